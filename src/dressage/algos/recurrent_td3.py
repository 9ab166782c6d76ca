"""TD3 with memory: Heess et al. 2015 (arXiv 1512.04455) on TD3, with a cell each for actor and
critics, as Ni et al. 2022 (arXiv 2110.05038) found to be what works.

The losses are TD3's (algos/td3.py); algos/recurrent.py tells how sequences are learned from.
Deviation: cells see observations alone, and neither the last action nor the last reward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos import td3
from dressage.algos.continuous import METRICS, Metrics, TargetSettings, learn, new_learner
from dressage.algos.off_policy import prepare, random_now, rollout_length, tensor
from dressage.algos.recurrent import (
    SequenceSettings,
    carry_size,
    drift,
    on_features,
    remembered,
)
from dressage.algos.sequences import check, memory
from dressage.core.algorithm import Needs, Task
from dressage.core.config import SchedulableRate
from dressage.explore.action_noise import ActionNoise, action_noise, explored
from dressage.explore.action_noise import remembered as noise_size
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.collector import Acted
    from dressage.core.learner import Learner
    from dressage.core.replay import Replay
    from dressage.core.rng import Rng
    from dressage.core.steps import Steps, Tree

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


class Config(SequenceSettings, TargetSettings, td3.DelaySettings):
    """Settings of recurrent TD3."""

    learning_rate: SchedulableRate = Field(1e-3, description="step size (alias lr)")


NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    recurrent=True,
    metrics=METRICS,
    metrics_at_times=("train/metrics/buffer_coverage", "train/metrics/critic_disagreement"),
    preview=True,
)


def init(task: Task, cfg: Config) -> Learner:
    """Actor and critics with a cell each, and the slow copies of both."""
    from dressage.nets.continuous import Critics, DeterministicActor
    from dressage.nets.remembering import Remembering

    spec, custom, size = task.spec, task.custom_net, noise_size(cfg, task.spec.action.continuous)
    learner = new_learner(
        task,
        cfg,
        actor=lambda: Remembering(
            spec, cfg, lambda task, s: DeterministicActor(task, s, None, size), custom
        ),
        critic=lambda: Remembering(
            spec, cfg, lambda task, s: Critics(task, s, cfg.n_critics), custom
        ),
    )
    learner.add_target("actor_target", "actor", "actor")
    learner.add_target("target", "critic", "critic")
    return learner


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Config) -> ActionNoise:
    shape = n_envs, learner.nets["actor"].net.mean.out_features
    return action_noise(rng, index, shape, cfg, random_now(cfg, index, n_envs))


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ActionNoise | None) -> Acted:
    """Actions of N environments; without noise the actor's own."""
    actor = learner.nets["actor"].net
    with torch.inference_mode():
        features, after = remembered(learner, obs, carry, learns=noise is not None)
        return explored(actor(features).cpu().numpy(), after, noise, actor.noise_size)


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, cfg: Config
) -> tuple[Tensor, dict[str, Tensor]]:
    names = ("critic", "target", "actor_target")
    return td3.critic_loss(*on_features(nets, batch, cfg.burn_in, names), normal, cfg)


def actor_loss(
    nets: dict[str, Any], batch: Steps, burn_in: int
) -> tuple[Tensor, dict[str, Tensor]]:
    return td3.actor_loss(*on_features(nets, batch, burn_in, ("actor", "critic")))


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics on each batch of sequences; at every `policy_delay`-th the actor and the targets."""

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        steps, rows, dimensions = batch.action[cfg.burn_in :].shape
        drawn = rng.normal("recurrent_td3", (steps * rows, dimensions), index)
        made = [learner.step("critic", critic_loss, batch, tensor(learner, drawn), cfg)]
        if index % cfg.policy_delay == 0:
            made.append(learner.step("actor", actor_loss, batch, cfg.burn_in))
            learner.follow("actor_target", cfg.tau)
            learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once, drift)
