"""Quantile regression DQN, Dabney et al. 2018 (arXiv 1710.10044).

The network gives each action `n_quantiles` quantiles of its return, at the levels
`tau_i = (i - 1/2) / N`. The loss is the quantile Huber loss (equations 9 and 10) between these and
the quantiles of `r + gamma Z'(s', a')`, a' being the action whose mean is the best: summed over
those that are learned, the mean over those of the target. Double, dueling, noisy, n-step and
prioritised as in DQN; priorities are a transition's mean quantile loss.

Deviations: an action of several choices has quantiles for each choice, and all share one target,
whose quantiles are the means over them, so that its mean is DQN's target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos.dqn import td_target
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
    check,
    chosen,
    following,
    learn,
    noise,
    q_learner,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.config import (
    Count,
    SchedulableBound,
    SchedulablePositive,
    SchedulableRate,
    SchedulableShare,
)
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
    """Settings of QR-DQN; the defaults are those of sb3-contrib, which are the paper's."""

    n_quantiles: Count = Field(200, description="of the return of each action")
    kappa: float = Field(1.0, gt=0, description="errors below this count by their square")
    learning_rate: SchedulableRate = Field(5e-5, description="step size (alias lr)")
    optimizer_eps: SchedulablePositive = Field(3.125e-4, description="epsilon of the optimizer")
    max_grad_norm: SchedulableBound = Field("inf", description="gradients are clipped to this norm")
    epsilon: SchedulableShare = Field(
        "linear(1, 0.01, until=0.005)", description="share of random actions"
    )


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    metrics=METRICS,
    metrics_at_times=VALUE_METRICS_AT_TIMES,
    native="qr_dqn",
)


def init(task: Task, cfg: Config) -> Learner:
    return q_learner(task, cfg, cfg.n_quantiles)


def quantile_huber(quantile: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Equation 10 between `[..., N]` quantiles and `[..., M]` of the target: `[...]`."""
    count = quantile.shape[-1]
    level = (torch.arange(count, device=quantile.device) + 0.5) / count
    error = target.unsqueeze(-2) - quantile.unsqueeze(-1)  # [..., N, M]
    huber = torch.nn.functional.huber_loss(
        error, torch.zeros_like(error), reduction="none", delta=kappa
    )
    weight = (level.unsqueeze(-1) - (error.detach() < 0).float()).abs()
    return (weight * huber / kappa).mean(-1).sum(-1)


def qr_loss(
    nets: dict[str, Any], batch: Steps, cfg: Any, noise: LayerNoise = QUIET
) -> tuple[Tensor, dict[str, Tensor]]:
    """The weighted quantile Huber loss; `[B, …]`."""
    net = nets["q"]
    with torch.no_grad():
        after = following(nets, batch, cfg, noise).mean(1)  # [B, quantiles]
        target = td_target(batch, after.T).T
    quantile = chosen(net(batch.obs, noise.online), batch.action, net.categories)
    each = quantile_huber(quantile, target.unsqueeze(1), cfg.kappa).mean(1)  # [B]
    loss = (batch.extras["weight"] * each).mean()
    q = quantile.detach().mean(-1)  # [B, actions]
    error = target.mean(-1, keepdim=True) - q
    metrics = td_metrics(q, error) | {
        "train/loss/td": loss.detach(),
        "td_error": error.abs().mean(-1),
        "priority": each.detach() / cfg.n_quantiles,
    }
    return loss, metrics


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    return learn(learner, memory, rng, cfg, qr_loss)
