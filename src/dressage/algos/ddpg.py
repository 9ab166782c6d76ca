"""Deep deterministic policy gradient (DDPG), Lillicrap et al. 2016 (arXiv 1509.02971).

Critic: `Q(s, a)` towards `r + gamma Q'(s', mu'(s'))` (equations 4 and 5). Actor: maximises
`Q(s, mu(s))` (equation 6). Slow copies of both follow at every update. TD3 without its three
additions: that is what is imported from there.

Deviations: widths, rates and batch are SB3's (256, 1e-3 and 256, not 400 and 300, 1e-4 and 1e-3,
64); the noise is Gaussian, as in Fujimoto et al. 2018 (`action_noise=ou` for the paper's); the
critic has no weight decay and gets the action beside the observation, at its first layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos.continuous import (
    ContinuousSettings,
    Metrics,
    TargetSettings,
    carry_size,
    check,
    critic_regression,
    learn,
)
from dressage.algos.off_policy import memory, rollout_length
from dressage.algos.td3 import NEEDS, act, actor_loss, init, noise, prepare, renewed_noise
from dressage.core.config import Count, SchedulableRate
from dressage.explore.action_noise import ActionNoiseSettings
from dressage.explore.parameter_noise import ParameterNoiseSettings
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


class Config(ContinuousSettings, TargetSettings, ActionNoiseSettings, ParameterNoiseSettings):
    """Settings of DDPG; the defaults are SB3's, with Gaussian exploration."""

    learning_rate: SchedulableRate = Field(1e-3, description="step size (alias lr)")
    n_critics: Count = Field(1, description="of whose values the smallest counts")


def critic_loss(nets: dict[str, Any], batch: Steps) -> tuple[Tensor, dict[str, Tensor]]:
    """Equation 4."""
    with torch.no_grad():
        action = nets["actor_target"](batch.next_obs)
        following = nets["target"](batch.next_obs, action).amin(0)
        target = batch.reward + batch.extras["discount"] * following
    return critic_regression(nets, batch, target)


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critic, actor and slow copies, in turn on each batch."""

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        made = [
            learner.step("critic", critic_loss, batch),
            learner.step("actor", actor_loss, batch),
        ]
        learner.follow("actor_target", cfg.tau)
        learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once) + renewed_noise(learner, memory, rng, cfg)
