"""Deep Q-learning, Mnih et al. 2015 (Nature 518), with the usual improvements as settings.

The loss is the Huber loss of `r + gamma max_a Q'(s', a) - Q(s, a)`, Q' being a copy of the network
that follows it slowly. `double` (van Hasselt et al. 2016, equation 4): the network chooses the
next action, Q' values it. `dueling` (Wang et al. 2016): values and advantages apart. `noisy`
(Fortunato et al. 2018): weights are drawn around a mean; it goes well with epsilon=0. `n_step`
(Sutton 1988) and `prioritized` (Schaul et al. 2016) are settings of the replay memory.

Deviations: `tau` below 1 moves Q' a little each time. An action of several choices has a value for
each choice, and all share one target, the mean over them (Tavakoli et al. 2018, equation 6), which
for a single choice is the plain one. Illegal actions (masks) are neither chosen nor bootstrapped
from. Noisy layers are those after the encoder; convolutions and the layer behind them are plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

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
    """Settings of DQN; the defaults are SB3's, with double Q-learning."""

    double: bool = Field(True, description="the network chooses what the target values")


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    metrics=METRICS,
    metrics_at_times=VALUE_METRICS_AT_TIMES,
    native="dqn",
)


def init(task: Task, cfg: Config) -> Learner:
    return q_learner(task, cfg)


def dqn_loss(
    nets: dict[str, Any], batch: Steps, cfg: Any, noise: LayerNoise = QUIET
) -> tuple[Tensor, dict[str, Tensor]]:
    """The weighted Huber loss of the TD error; `[B, …]`."""
    with torch.no_grad():
        value = following(nets, batch, cfg, noise).mean(-1)
        target = td_target(batch, value)
    q = chosen(nets["q"](batch.obs, noise.online), batch.action, nets["q"].categories)
    return huber_loss(q, target, batch.extras["weight"])


def td_target(batch: Steps, value: Tensor) -> Tensor:
    """`r + discount V(s')`, of any shape."""
    return batch.reward + batch.extras["discount"] * value  # type: ignore[no-any-return]


def huber_loss(q: Tensor, target: Tensor, weight: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Of values `[B, actions]` and their common target `[B]`."""
    error = target.unsqueeze(-1) - q
    huber = torch.nn.functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    loss = (weight * huber.mean(-1)).mean()
    metrics = td_metrics(q, error) | {
        "train/loss/td": loss.detach(),
        "priority": error.detach().abs().mean(-1),
    }
    return loss, metrics


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    return learn(learner, memory, rng, cfg, dqn_loss)
