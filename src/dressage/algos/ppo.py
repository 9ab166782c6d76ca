"""Proximal policy optimization, Schulman et al. 2017 (arXiv 1707.06347).

Equation 7, the clipped surrogate:  L = E[min(r A, clip(r, 1 - eps, 1 + eps) A)],
r = pi(a|s) / pi_old(a|s); equation 9 adds the value error and an entropy bonus; advantages by
generalised advantage estimation, equations 11 and 12.

Deviations from the paper, each common practice ("The 37 implementation details of PPO"):
advantages are normalised a minibatch or a batch at a time; gradients are clipped by their joint
norm; weights start orthogonal; an optional bound on the KL divergence ends an update early, after
the minibatch that passed it (SB3: before); the value loss may be clipped as in OpenAI's baselines.
A truncated episode bootstraps from its true last observation. Recurrent: sequences start from the
carry stored when they were collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dressage.algos.actor_critic import (
    ON_POLICY_METRICS_AT_TIMES,
    POLICY_METRICS,
    VALUE_METRICS,
    check_batches,
    init,
    learning_rates,
)
from dressage.algos.on_policy import (
    act,
    carry_size,
    divergence,
    forward,
    noise,
    prepare,
    weighted_sum,
)
from dressage.core.algorithm import Needs
from dressage.core.config import (
    NetworkSettings,
    OptimizerSettings,
    Schedulable,
    SchedulablePositive,
    SchedulableRate,
    SchedulableShare,
    true_means,
)
from dressage.core.memory import Rollout
from dressage.core.summaries import combined
from dressage.explore.bonus import BonusSettings
from dressage.lazy import torch

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
    """Settings of PPO; the defaults are the paper's for continuous control."""

    n_steps: int = Field(2048, ge=1, description="vector steps between updates")
    batch_size: int = Field(64, ge=2, description="steps in a minibatch; divides n_steps * n_envs")
    n_epochs: int = Field(10, ge=1, description="passes over a rollout")
    gamma: SchedulableShare = Field(0.99, description="discount")
    gae_lambda: SchedulableShare = Field(0.95, description="bias against variance of the advantage")
    clip_range: SchedulableRate = Field(0.2, description="epsilon of the clipped surrogate")
    clip_range_vf: SchedulableRate | None = Field(
        None, description="bound of a value's change; none: off"
    )
    normalize_advantage: Annotated[
        Literal["minibatch", "batch", "off"], true_means("minibatch")
    ] = Field("minibatch", description="over what advantages get mean 0 and deviation 1")
    ent_coef: Schedulable = Field(0.0, description="weight of the entropy bonus")
    vf_coef: SchedulableRate = Field(0.5, description="weight of the value loss")
    target_kl: SchedulablePositive | None = Field(
        None, description="ends an update at 1.5 times this KL"
    )
    sequence_length: int = Field(16, ge=1, description="recurrent: steps of a training sequence")


NEEDS = Needs(
    feed="rollout",
    recurrent=True,
    masks=True,
    metrics=(
        *POLICY_METRICS,
        *VALUE_METRICS,
        "train/metrics/clip_fraction",
        "train/metrics/ratio_max",
        "train/metrics/epochs_done",
    ),
    metrics_at_times=(*ON_POLICY_METRICS_AT_TIMES, "train/metrics/value_clip_fraction"),
    native="ppo",
)


def policy_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_range: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Equation 7, negated; all `[B]`."""
    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip_range, 1.0 + clip_range)
    loss = -torch.min(ratio * advantage, clipped * advantage).mean()
    with torch.no_grad():
        metrics = {
            "train/metrics/kl_divergence": divergence(log_ratio),
            "train/metrics/clip_fraction": ((ratio - 1.0).abs() > clip_range).float().mean(),
            "train/metrics/ratio_max": ratio.max(),
        }
    return loss, metrics


def value_loss(
    value: Tensor, old_value: Tensor, returns: Tensor, clip_range: float | None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean squared error, of the worse of value and clipped value where `clip_range` is given."""
    error = (value - returns).square()
    if clip_range is None:
        return error.mean(), {}
    change = value - old_value
    clipped = old_value + change.clamp(-clip_range, clip_range)
    share = (change.detach().abs() > clip_range).float().mean()
    loss = torch.max(error, (clipped - returns).square()).mean()
    return loss, {"train/metrics/value_clip_fraction": share}


def ppo_loss(nets: dict[str, Any], batch: Steps, cfg: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """Equation 9 on one minibatch: `[B, …]`, or `[L, B, …]` for recurrent networks."""
    x, out = batch.extras, forward(nets, batch)
    log_prob = out.actions.log_prob(batch.action)
    advantage = x["advantage"]
    if cfg.normalize_advantage == "minibatch":
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy, policy_metrics = policy_loss(log_prob, x["log_prob"], advantage, cfg.clip_range)
    value, value_metrics = value_loss(out.value, x["value"], x["returns"], cfg.clip_range_vf)
    entropy = out.actions.entropy(batch.action).mean()
    total, metrics = weighted_sum(policy, value, entropy, cfg)
    return total, metrics | policy_metrics | value_metrics


def check(cfg: Config, n_envs: int) -> None:
    check_batches(cfg, n_envs)


def rollout_length(cfg: Config) -> int:
    return cfg.n_steps


def memory(cfg: Config) -> Rollout:
    length = None if cfg.recurrent == "none" else cfg.sequence_length
    return Rollout(cfg.batch_size, cfg.n_epochs, length)


def update(learner: Learner, memory: Rollout, rng: Rng, cfg: Config) -> dict[str, float]:
    """Epochs of minibatches, fewer once the KL divergence passes 1.5 times its target."""
    learner.set_optimizer("all", cfg, learning_rates(learner, cfg))
    collected: list[dict[str, Tensor]] = []
    for batch in memory.batches(rng):
        collected.append(learner.step("all", ppo_loss, learner.tensors(batch), cfg))
        if cfg.target_kl is None:
            continue
        if float(collected[-1]["train/metrics/kl_divergence"]) > 1.5 * cfg.target_kl:
            break
    metrics = combined(collected)
    metrics["train/metrics/epochs_done"] = len(collected) / memory.batches_per_epoch
    return metrics
