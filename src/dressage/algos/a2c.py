"""Advantage actor-critic, Mnih et al. 2016 (arXiv 1602.01783), in its synchronous form.

Section 4, "Asynchronous advantage actor-critic": the policy follows
    grad log pi(a_t | s_t) (R_t - V(s_t)),   R_t = r_t + … + gamma^(k-1) r_t+k-1 + gamma^k V(s_t+k),
with an entropy bonus beta H(pi(s_t)); the value follows grad (R_t - V(s_t))^2. k is as many steps
as remain of the rollout; `gae_lambda` below 1 mixes shorter ones in (generalised advantage
estimation, Schulman et al. 2016), and 1 is the paper's.

Deviations from the paper: environments step together and one update serves them all, instead of
asynchronous workers (OpenAI's A2C; no loss in its results); RMSprop is PyTorch's, whose statistics
start at zero (`optimizer=rmsprop_tf` starts them at one, as TensorFlow does, and learns slower at
first: area under the curve of CartPole 152 instead of 301, five seeds); gradients are clipped by
their joint norm; weights start orthogonal. A truncated episode bootstraps from its true last
observation. Recurrent: gradients flow through the `n_steps` of a rollout, from the stored carry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dressage.algos.actor_critic import (
    ON_POLICY_METRICS_AT_TIMES,
    POLICY_METRICS,
    VALUE_METRICS,
    init,
    learning_rates,
)
from dressage.algos.on_policy import (
    act,
    carry_size,
    forward,
    noise,
    policy_change,
    prepare,
    weighted_sum,
)
from dressage.core.algorithm import Needs
from dressage.core.config import (
    NetworkSettings,
    Optimizer,
    OptimizerSettings,
    Schedulable,
    SchedulableRate,
    SchedulableShare,
    true_means,
)
from dressage.core.memory import Rollout
from dressage.core.summaries import combined
from dressage.errors import ConfigError
from dressage.explore.bonus import BonusSettings

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.learner import Learner
    from dressage.core.rng import Rng
    from dressage.core.steps import Steps

__all__ = [
    "NEEDS",
    "Config",
    "act",
    "carry_size",
    "check",
    "init",
    "memory",
    "noise",
    "prepare",
    "rollout_length",
    "update",
]


class Config(NetworkSettings, OptimizerSettings, BonusSettings):
    """Settings of A2C; the defaults are those of OpenAI's baselines and SB3."""

    n_steps: int = Field(5, ge=1, description="vector steps between updates")
    gamma: SchedulableShare = Field(0.99, description="discount")
    gae_lambda: SchedulableShare = Field(1.0, description="bias against variance of the advantage")
    normalize_advantage: Annotated[Literal["batch", "off"], true_means("batch")] = Field(
        "off", description="batch: advantages of a rollout get mean 0 and deviation 1"
    )
    ent_coef: Schedulable = Field(0.0, description="weight of the entropy bonus")
    vf_coef: SchedulableRate = Field(0.5, description="weight of the value loss")
    learning_rate: SchedulableRate = Field(7e-4, description="step size (alias lr)")
    optimizer: Optimizer = Field("rmsprop", description="rmsprop_tf puts epsilon inside the root")


NEEDS = Needs(
    feed="rollout",
    recurrent=True,
    masks=True,
    metrics=(*POLICY_METRICS, *VALUE_METRICS),
    metrics_at_times=ON_POLICY_METRICS_AT_TIMES,
    native="a2c",
)


def policy_loss(log_prob: Tensor, advantage: Tensor) -> Tensor:
    """The likelihood-ratio form of the policy gradient, negated; both of one shape."""
    return -(log_prob * advantage).mean()


def value_loss(value: Tensor, returns: Tensor) -> Tensor:
    return (value - returns).square().mean()


def a2c_loss(nets: dict[str, Any], batch: Steps, cfg: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """All three terms on one rollout, `[T, N, …]`."""
    x, out = batch.extras, forward(nets, batch)
    log_prob = out.actions.log_prob(batch.action)
    return weighted_sum(
        policy_loss(log_prob, x["advantage"]),
        value_loss(out.value, x["returns"]),
        out.actions.entropy(batch.action).mean(),
        cfg,
    )


def check(cfg: Config, n_envs: int) -> None:
    if cfg.normalize_advantage == "batch" and cfg.n_steps * n_envs < 2:
        raise ConfigError(
            "normalize_advantage=batch needs at least 2 steps in a rollout, and n_steps=1 x "
            "n_envs=1 gives one: set n_steps=5."
        )


def rollout_length(cfg: Config) -> int:
    return cfg.n_steps


def memory(cfg: Config) -> Rollout:
    return Rollout(batch_size=None)


def update(learner: Learner, memory: Rollout, rng: Rng, cfg: Config) -> dict[str, float]:
    """One gradient step on the whole rollout."""
    learner.set_optimizer("all", cfg, learning_rates(learner, cfg))
    inspect = learner.inspect_next
    (batch,) = (learner.tensors(steps) for steps in memory.batches(rng))
    metrics = learner.step("all", a2c_loss, batch, cfg)
    return combined([metrics | policy_change(learner, batch) if inspect else metrics])
