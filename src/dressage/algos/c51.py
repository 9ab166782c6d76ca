"""Categorical DQN (C51), Bellemare et al. 2017 (arXiv 1707.06887).

The network gives each action a distribution over `n_atoms` returns from `v_min` to `v_max`. The
target is the distribution of `r + gamma Z'(s', a')`, a' being the action whose mean is the best,
brought back onto the atoms (equation 7), and the loss is the cross-entropy with it. Double,
dueling, noisy, n-step and prioritised as in DQN; priorities are the Kullback-Leibler divergence
(Hessel et al. 2018), which is the loss less what no network could take away.

Deviations: an action of several choices has a distribution for each choice, and all share one
target, the mixture over them, whose mean is DQN's target. Returns beyond v_min and v_max count as
these, so the two must hold what the task can pay: see the metric `clipped_atoms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos import value_based
from dressage.algos.off_policy import (
    VALUE_METRICS_AT_TIMES,
    memory,
    prepare,
    rollout_length,
    td_metrics,
)
from dressage.algos.value_based import (
    METRICS,
    QUIET,
    LayerNoise,
    ValueSettings,
    act,
    carry_size,
    chosen,
    following,
    learn,
    noise,
    q_learner,
)
from dressage.core.algorithm import Needs, Task
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


class Config(ValueSettings):
    """Settings of C51; atoms and their range are the paper's."""

    n_atoms: int = Field(51, ge=2, description="returns that a distribution is over")
    v_min: float = Field(-10.0, description="the lowest of them")
    v_max: float = Field(10.0, description="the highest of them")


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    metrics=(*METRICS, "train/metrics/clipped_atoms"),
    metrics_at_times=VALUE_METRICS_AT_TIMES,
    native="c51",
)


def check(cfg: Config, n_envs: int) -> None:
    value_based.check(cfg, n_envs)
    if cfg.v_min >= cfg.v_max:
        raise ConfigError(
            f"v_min={cfg.v_min:g} is not below v_max={cfg.v_max:g}: they are the lowest and the "
            "highest discounted return that the task can give."
        )


def init(task: Task, cfg: Config) -> Learner:
    support = torch.linspace(cfg.v_min, cfg.v_max, cfg.n_atoms)
    return q_learner(task, cfg, cfg.n_atoms, support)


def projected(probability: Tensor, moved: Tensor, support: Tensor) -> Tensor:
    """Equation 7: shares the probability `[B, atoms]` of moved atoms out among the fixed ones.

    One that lies between two gives to each in proportion to how near it is.
    """
    spacing = (support[-1] - support[0]) / (len(support) - 1)
    within = moved.clamp(support[0], support[-1])
    distance = (within.unsqueeze(1) - support.unsqueeze(1)).abs() / spacing  # [B, to, from]
    share = (1.0 - distance).clamp(min=0.0)
    return torch.bmm(share, probability.unsqueeze(-1)).squeeze(-1)


def c51_loss(
    nets: dict[str, Any], batch: Steps, cfg: Any, noise: LayerNoise = QUIET
) -> tuple[Tensor, dict[str, Tensor]]:
    """The weighted cross-entropy; `[B, …]`."""
    net, extras = nets["q"], batch.extras
    support = net.support
    with torch.no_grad():
        after = following(nets, batch, cfg, noise).softmax(-1).mean(1)  # [B, atoms]
        moved = batch.reward.unsqueeze(-1) + extras["discount"].unsqueeze(-1) * support
        target = projected(after, moved, support)
        beyond = (moved < support[0]) | (moved > support[-1])
        entropy = -torch.special.xlogy(target, target).sum(-1)
    logits = chosen(net(batch.obs, noise.online), batch.action, net.categories)
    log_probability = logits.log_softmax(-1)  # [B, actions, atoms]
    cross_entropy = -(target.unsqueeze(1) * log_probability).sum(-1).mean(1)
    loss = (extras["weight"] * cross_entropy).mean()
    q = (log_probability.detach().exp() * support).sum(-1)
    error = (target * support).sum(-1, keepdim=True) - q
    metrics = td_metrics(q, error) | {
        "train/loss/td": loss.detach(),
        "train/metrics/clipped_atoms": (beyond * after).sum(-1).mean(),
        "td_error": error.abs().mean(-1),
        "priority": (cross_entropy.detach() - entropy).clamp(min=0.0),
    }
    return loss, metrics


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    return learn(learner, memory, rng, cfg, c51_loss)
