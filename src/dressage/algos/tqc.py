"""Truncated quantile critics (TQC), Kuznetsov et al. 2020 (arXiv 2005.04269).

SAC whose critics give quantiles of the return (section 3). The target's quantiles of all critics
are put together and sorted, and the largest `top_quantiles_to_drop_per_net` of each critic are left
out: that, instead of the smallest of two values, keeps values from growing (equation 10). The actor
gets the mean over all quantiles of all critics (equation 13).

Deviations: two critics rather than five, as in sb3-contrib; more make it better and slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos import continuous
from dressage.algos.continuous import (
    METRICS,
    METRICS_AT_TIMES,
    ContinuousSettings,
    Metrics,
    TargetSettings,
    carry_size,
    critic_metrics,
    learn,
)
from dressage.algos.off_policy import memory, prepare, rollout_length, tensor
from dressage.algos.qr_dqn import quantile_huber
from dressage.algos.sac import (
    ENTROPY_METRICS,
    ENTROPY_METRICS_AT_TIMES,
    EntropySettings,
    SdeSettings,
    act,
    actor_loss,
    drawn,
    improve_policy,
    noise,
    soft_learner,
    target_entropy,
    temperature,
    update_noise,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.config import Count
from dressage.errors import ConfigError
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.learner import Learner
    from dressage.core.replay import Replay
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


class Config(ContinuousSettings, TargetSettings, EntropySettings, SdeSettings):
    """Settings of TQC; the defaults are sb3-contrib's."""

    n_critics: Count = Field(2, description="whose quantiles are put together")
    n_quantiles: Count = Field(25, description="that each critic gives")
    top_quantiles_to_drop_per_net: int = Field(
        2, ge=0, description="largest quantiles left out of the target, for each critic"
    )


NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    metrics=(*METRICS, *ENTROPY_METRICS),
    metrics_at_times=(*METRICS_AT_TIMES, *ENTROPY_METRICS_AT_TIMES),
    native="tqc",
)
KAPPA = 1.0  # where the loss turns from a square into a line


def check(cfg: Config, n_envs: int) -> None:
    continuous.check(cfg, n_envs)
    if cfg.top_quantiles_to_drop_per_net >= cfg.n_quantiles:
        raise ConfigError(
            f"top_quantiles_to_drop_per_net={cfg.top_quantiles_to_drop_per_net} leaves none of "
            f"n_quantiles={cfg.n_quantiles}: at most {cfg.n_quantiles - 1}."
        )


def init(task: Task, cfg: Config) -> Learner:
    """An actor, critics of quantiles with their slow copies, and the temperature."""
    from dressage.nets.continuous import GaussianActor, QuantileCritics

    spec, custom = task.spec, task.custom_net
    return soft_learner(
        task,
        cfg,
        actor=lambda: GaussianActor(spec, cfg, custom),
        critic=lambda: QuantileCritics(spec, cfg, cfg.n_critics, custom, cfg.n_quantiles),
    )


def truncated(quantiles: Tensor, dropped: int) -> Tensor:
    """`[E, B, N] -> [B, E (N - dropped)]`: those of all critics in order, without the largest."""
    members, size, count = quantiles.shape
    together = quantiles.transpose(0, 1).reshape(size, members * count).sort(-1).values
    return together[:, : members * (count - dropped)]


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor, dropped: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Equation 11: the quantile Huber loss towards what is left of the target's quantiles."""
    with torch.no_grad():
        action, log_prob = drawn(nets, batch.next_obs, normal)
        kept = truncated(nets["target"].heads(batch.next_obs, action), dropped)
        soft = kept - (alpha * log_prob).unsqueeze(-1)
        discount = batch.extras["discount"].unsqueeze(-1)
        target = batch.reward.unsqueeze(-1) + discount * soft  # [B, kept]
    quantiles = nets["critic"].heads(batch.obs, batch.action)  # [E, B, N]
    each = quantile_huber(quantiles, target.unsqueeze(0), KAPPA) / quantiles.shape[-1]  # [E, B]
    loss = (batch.extras["weight"] * each).mean(-1).sum()
    with torch.no_grad():
        q = quantiles.mean(-1)
        return loss, critic_metrics(loss, q, target.mean(-1) - q)


def mean_of_critics(q: Tensor) -> Tensor:
    """`[E, B] -> [B]`."""
    return q.mean(0)


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics, actor, temperature and targets, in turn on each batch."""
    actor, dropped = learner.nets["actor"], cfg.top_quantiles_to_drop_per_net
    entropy = target_entropy(actor, cfg)

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        normal = tensor(learner, update_noise(actor, rng, "tqc", index, len(batch.reward)))
        alpha = temperature(learner, cfg)
        made = [learner.step("critic", critic_loss, batch, normal[0], alpha, dropped)]
        improving = (batch, normal[1], alpha, mean_of_critics)
        made += improve_policy(learner, actor_loss, improving, entropy, cfg)
        learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once)
