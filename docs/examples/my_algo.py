"""Vanilla policy gradient with advantages, as an example of an algorithm of one's own.

Sutton et al. 2000, theorem 1:  grad J = E[grad log pi(a|s) A(s, a)].  A by generalised advantage
estimation. Everything that is not this equation is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

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
from dressage.core.config import NetworkSettings, OptimizerSettings, Schedulable
from dressage.core.memory import Rollout
from dressage.core.summaries import combined

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


class Config(NetworkSettings, OptimizerSettings):
    """Every field is a setting: `dressage train ENV algo=examples.my_algo n_steps=64`."""

    n_steps: int = Field(128, ge=2, description="vector steps between updates")
    gamma: Schedulable = Field(0.99, description="discount")
    gae_lambda: Schedulable = Field(0.97, description="bias against variance of the advantage")
    normalize_advantage: Literal["batch", "off"] = Field("batch", description="over a rollout")
    ent_coef: Schedulable = Field(0.0, description="weight of the entropy bonus")
    vf_coef: Schedulable = Field(0.5, description="weight of the value loss")


NEEDS = Needs(
    feed="rollout",
    recurrent=True,
    masks=True,
    metrics=(*POLICY_METRICS, *VALUE_METRICS),
    metrics_at_times=ON_POLICY_METRICS_AT_TIMES,
)


def loss(nets: dict[str, Any], batch: Steps, cfg: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """Pure: tensors in, a scalar and metrics out. `batch` is the whole rollout, `[T, N, …]`."""
    x, out = batch.extras, forward(nets, batch)
    policy = -(out.actions.log_prob(batch.action) * x["advantage"]).mean()
    value = (out.value - x["returns"]).square().mean()
    return weighted_sum(policy, value, out.actions.entropy(batch.action).mean(), cfg)


def check(cfg: Config, n_envs: int) -> None:
    """Would raise ConfigError where settings conflict."""


def rollout_length(cfg: Config) -> int:
    return cfg.n_steps


def memory(cfg: Config) -> Rollout:
    return Rollout(batch_size=None)  # the rollout whole


def update(learner: Learner, memory: Rollout, rng: Rng, cfg: Config) -> dict[str, float]:
    learner.set_optimizer("all", cfg, learning_rates(learner, cfg))
    inspect = learner.inspect_next  # true once per log interval
    (batch,) = (learner.tensors(steps) for steps in memory.batches(rng))
    metrics = learner.step("all", loss, batch, cfg)
    return combined([metrics | policy_change(learner, batch) if inspect else metrics])
