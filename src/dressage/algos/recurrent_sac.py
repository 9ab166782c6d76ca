"""SAC with memory: Heess et al. 2015 (arXiv 1512.04455) on SAC, with a cell each for actor and
critics, as Ni et al. 2022 (arXiv 2110.05038) found to be what works.

The losses are SAC's (algos/sac.py); algos/recurrent.py tells how sequences are learned from.
Deviation: cells see observations alone, and neither the last action nor the last reward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dressage.algos import sac
from dressage.algos.continuous import METRICS, Metrics, TargetSettings, learn
from dressage.algos.off_policy import prepare, rollout_length, tensor
from dressage.algos.recurrent import (
    SequenceSettings,
    carry_size,
    drift,
    on_features,
    remembered,
)
from dressage.algos.sac import ActorNoise, EntropySettings, SdeSettings
from dressage.algos.sequences import check, memory
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

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


class Config(SequenceSettings, TargetSettings, EntropySettings, SdeSettings):
    """Settings of recurrent SAC."""


NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    recurrent=True,
    metrics=(*METRICS, *sac.ENTROPY_METRICS),
    metrics_at_times=(
        "train/metrics/buffer_coverage",
        "train/metrics/critic_disagreement",
        *sac.ENTROPY_METRICS_AT_TIMES,
    ),
    preview=True,
)


def init(task: Task, cfg: Config) -> Learner:
    """Actor, critics and slow critics with a cell each, and the temperature."""
    from dressage.nets.continuous import Critics, GaussianActor
    from dressage.nets.remembering import Remembering

    spec, custom = task.spec, task.custom_net
    return sac.soft_learner(
        task,
        cfg,
        actor=lambda: Remembering(spec, cfg, GaussianActor, custom),
        critic=lambda: Remembering(
            spec, cfg, lambda task, s: Critics(task, s, cfg.n_critics), custom
        ),
    )


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Config) -> ActorNoise:
    return sac.acting_noise(learner.nets["actor"].net, rng, index, n_envs, cfg)


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ActorNoise | None) -> Acted:
    """Actions of N environments; without noise the middle of the distribution."""
    with torch.inference_mode():
        features, after = remembered(learner, obs, carry, learns=noise is not None)
        if noise is not None and noise.uniform is not None:
            return Acted(noise.uniform, after, {})
        return Acted(sac.chosen(learner, learner.nets["actor"].net, features, noise), after, {})


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor, burn_in: int
) -> tuple[Tensor, dict[str, Any]]:
    names = ("critic", "target", "actor")
    return sac.critic_loss(*on_features(nets, batch, burn_in, names), normal, alpha)


def actor_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor, burn_in: int
) -> tuple[Tensor, dict[str, Any]]:
    names = ("actor", "critic")
    return sac.actor_loss(*on_features(nets, batch, burn_in, names), normal, alpha)


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics, actor, temperature and targets, in turn on each batch of sequences."""
    actor, count = learner.nets["actor"].net, cfg.batch_size * cfg.sequence_length
    entropy = sac.target_entropy(actor, cfg)

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        normal = tensor(learner, sac.update_noise(actor, rng, "recurrent_sac", index, count))
        alpha = sac.temperature(learner, cfg)
        made = [learner.step("critic", critic_loss, batch, normal[0], alpha, cfg.burn_in)]
        improving = (batch, normal[1], alpha, cfg.burn_in)
        made += sac.improve_policy(learner, actor_loss, improving, entropy, cfg)
        learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once, drift)
