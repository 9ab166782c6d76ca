"""Twin delayed deterministic policy gradient (TD3), Fujimoto et al. 2018 (arXiv 1802.09477).

Critics: each `Q_i(s, a)` towards `r + gamma min_j Q'_j(s', a')` (section 4.2), where a' is the slow
actor's action with clipped noise, within the bounds (section 5.3). Actor: maximises `Q_1(s, mu(s))`
at every `policy_delay`-th update, when the slow copies of actor and critics follow too (5.2).

Deviations: the critics' loss is half the squared error, as in SAC; with Adam only its epsilon sees
that. Widths and batch are those of SB3 and of the authors' later code (256, not 400 and 300; 256,
not 100).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from dressage.algos.continuous import (
    METRICS,
    METRICS_AT_TIMES,
    ContinuousSettings,
    Metrics,
    TargetSettings,
    carry_size,
    check,
    critic_regression,
    learn,
    new_learner,
)
from dressage.algos.off_policy import (
    frozen,
    memory,
    random_now,
    rollout_length,
    tensor,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.config import Count, SchedulableRate
from dressage.explore import parameter_noise
from dressage.explore.action_noise import (
    ActionNoise,
    ActionNoiseSettings,
    action_noise,
    explored,
    remembered,
)
from dressage.explore.parameter_noise import (
    ParameterNoiseSettings,
    adapt,
    add_parameter_noise,
    interval_passed,
    perturb,
)
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


class DelaySettings(ActionNoiseSettings):
    """What TD3 adds to DDPG, and how it explores."""

    GROUP: ClassVar[str] = "td3"

    policy_delay: Count = Field(2, description="updates of the critics for one of the actor")
    target_policy_noise: SchedulableRate = Field(
        0.2, description="deviation of the noise on the target's actions"
    )
    target_noise_clip: SchedulableRate = Field(0.5, description="bound of that noise")


class Config(ContinuousSettings, TargetSettings, DelaySettings, ParameterNoiseSettings):
    """Settings of TD3; the defaults are SB3's, with the paper's exploration."""

    learning_rate: SchedulableRate = Field(1e-3, description="step size (alias lr)")


NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    metrics=METRICS,
    metrics_at_times=(*METRICS_AT_TIMES, *parameter_noise.METRICS),
    native="td3",
)


def init(task: Task, cfg: Any) -> Learner:
    """An actor, critics, and their slow copies `actor_target` and `target`."""
    from dressage.nets.continuous import Critics, DeterministicActor

    spec, custom = task.spec, task.custom_net
    size = remembered(cfg, spec.action.continuous)
    learner = new_learner(
        task,
        cfg,
        actor=lambda: DeterministicActor(spec, cfg, custom, size),
        critic=lambda: Critics(spec, cfg, cfg.n_critics, custom),
    )
    learner.add_target("actor_target", "actor", "actor")
    learner.add_target("target", "critic", "critic")
    add_parameter_noise(learner, "actor", "actor", task.rng, cfg)
    return learner


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Any) -> ActionNoise:
    shape = n_envs, learner.nets["actor"].mean.out_features
    return action_noise(rng, index, shape, cfg, random_now(cfg, index, n_envs))


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ActionNoise | None) -> Acted:
    """Actions of N environments; without noise the actor's own."""
    perturbed = noise is not None and "perturbed" in learner.nets
    actor = learner.nets["perturbed" if perturbed else "actor"]
    if noise is not None and noise.uniform is not None:
        return explored(noise.uniform, carry, noise, actor.noise_size)
    with torch.inference_mode():
        action = actor(tensor(learner, obs)).cpu().numpy()
    return explored(action, carry, noise, actor.noise_size)


def prepare(learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
    """Steps are kept as they are, without what the noise remembers."""
    extras = {name: values for name, values in steps.extras.items() if name != "carry"}
    return steps._replace(extras=extras), {}


def smoothed(nets: dict[str, Any], batch: Steps, normal: Tensor, cfg: DelaySettings) -> Tensor:
    """Section 5.3: the target's actions `[B, A]` at the successors, with clipped noise."""
    noise = (cfg.target_policy_noise * normal).clamp(-cfg.target_noise_clip, cfg.target_noise_clip)
    action: Tensor = nets["actor_target"](batch.next_obs) + noise
    return action.clamp(-1.0, 1.0)


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, cfg: DelaySettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """Algorithm 1, summed over the critics; `normal [B, A]` is for the smoothing."""
    with torch.no_grad():
        action = smoothed(nets, batch, normal, cfg)
        following = nets["target"](batch.next_obs, action).amin(0)
        target = batch.reward + batch.extras["discount"] * following
    return critic_regression(nets, batch, target)


def actor_loss(nets: dict[str, Any], batch: Steps) -> tuple[Tensor, dict[str, Tensor]]:
    """Minus the value that the first critic gives the actor's actions."""
    with frozen(nets["critic"]):
        loss = -nets["critic"](batch.obs, nets["actor"](batch.obs), members=1).mean()
    return loss, {"train/loss/actor": loss.detach()}


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics on each batch; at every `policy_delay`-th the actor, and all slow copies."""

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        normal = tensor(learner, rng.normal("td3", batch.action.shape, index))
        made = [learner.step("critic", critic_loss, batch, normal, cfg)]
        if index % cfg.policy_delay == 0:
            made.append(learner.step("actor", actor_loss, batch))
            learner.follow("actor_target", cfg.tau)
            learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once) + renewed_noise(learner, memory, rng, cfg)


def renewed_noise(learner: Learner, memory: Replay, rng: Rng, cfg: Any) -> list[Metrics]:
    """Draws the noisy copy of the actor anew where that is due, and adapts its scale."""
    made, interval = memory.ring.high, cfg.parameter_noise_interval
    if "perturbed" not in learner.nets or not interval_passed(made, cfg.train_freq, interval):
        return []
    perturb(learner, rng, made)
    obs = tensor(learner, memory.newest(interval).obs)
    with torch.no_grad():
        apart = learner.nets["actor"](obs) - learner.nets["perturbed"](obs)
        return [adapt(learner, apart.square().mean().sqrt(), cfg.parameter_noise)]
