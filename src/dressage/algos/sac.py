"""Soft actor-critic, Haarnoja et al. 2018 (arXiv 1812.05905).

Critics: `Q(s, a)` towards `r + gamma (min_i Q'_i(s', a') - alpha log pi(a'|s'))`, a' drawn from the
policy (equations 5 and 6). Actor: minimises `alpha log pi(a|s) - min_i Q_i(s, a)` with a
reparameterised (equation 9). Temperature: moves so that the entropy meets `target_entropy`
(equation 18), or stays fixed.

Deviations: the temperature's loss is linear in its logarithm, as in the authors' code. Actions are
in [-1, 1]; the first `learning_starts` are uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
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
    prepare,
    random_now,
    rollout_length,
    tensor,
)
from dressage.algos.on_policy import sde_matrix
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import Settings
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

Floats = npt.NDArray[np.float32]


class EntropySettings(Settings):
    """The weight of the entropy."""

    GROUP: ClassVar[str] = "entropy"

    ent_coef: Literal["auto"] | Annotated[float, Field(ge=0)] = Field(
        "auto", description="weight of the entropy; auto: learned"
    )
    ent_coef_init: float = Field(1.0, gt=0, description="auto: its first value")
    target_entropy: Literal["auto"] | float = Field(
        "auto", description="auto: minus the number of action dimensions"
    )


class SdeSettings(Settings):
    """State-dependent exploration, Raffin et al. 2021 (arXiv 2005.05719)."""

    GROUP: ClassVar[str] = "exploration"

    use_sde: bool = Field(False, description="state-dependent exploration (gSDE)")
    sde_sample_freq: int = Field(
        -1, description="gSDE: vector steps between its noise matrices; -1: train_freq"
    )
    log_std_init: float = Field(-3.0, description="gSDE: log of the first deviations")


class Config(ContinuousSettings, TargetSettings, EntropySettings, SdeSettings):
    """Settings of SAC; the defaults are the paper's."""


ENTROPY_METRICS = ("train/metrics/entropy", "train/metrics/alpha")
ENTROPY_METRICS_AT_TIMES = ("train/loss/alpha", "train/metrics/target_entropy")
NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    metrics=(*METRICS, *ENTROPY_METRICS),
    metrics_at_times=(*METRICS_AT_TIMES, *ENTROPY_METRICS_AT_TIMES),
    native="sac",
)


class ActorNoise(NamedTuple):
    """Random numbers for acting in N environments."""

    normal: Floats  # [N, A], or gSDE's matrices [N, features, A]
    uniform: Floats | None  # [N, A]: the actions themselves while all are random


def init(task: Task, cfg: Config) -> Learner:
    from dressage.nets.continuous import Critics, GaussianActor

    spec, custom = task.spec, task.custom_net
    return soft_learner(
        task,
        cfg,
        actor=lambda: GaussianActor(spec, cfg, custom),
        critic=lambda: Critics(spec, cfg, cfg.n_critics, custom),
    )


def soft_learner(task: Task, cfg: Any, actor: Any, critic: Any) -> Learner:
    """An actor, critics with their slow copies, and the temperature."""
    learner = new_learner(task, cfg, actor, critic)
    learner.add_target("target", "critic", "critic")
    add_temperature(learner, cfg)
    return learner


def add_temperature(learner: Learner, cfg: Any) -> None:
    """`alpha`, a group of its own, where it is learned."""
    from dressage.nets.continuous import Temperature

    if cfg.ent_coef == "auto":
        net = learner.add_net("alpha", Temperature(cfg.ent_coef_init))
        learner.add_group("alpha", {"alpha": net}, cfg)


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Any) -> ActorNoise:
    return acting_noise(learner.nets["actor"], rng, index, n_envs, cfg)


def acting_noise(actor: Any, rng: Rng, index: int, n_envs: int, cfg: Any) -> ActorNoise:
    """The draw of vector step `index`."""
    if random_now(cfg, index, n_envs):
        shape = n_envs, actor.mean.out_features
        uniform = 2.0 * rng.uniform("act/uniform", shape, index) - 1.0
        return ActorNoise(uniform, uniform)
    shape = n_envs, *actor.noise_shape()
    if actor.use_sde:
        every = cfg.train_freq if cfg.sde_sample_freq < 1 else cfg.sde_sample_freq
        return ActorNoise(sde_matrix(rng.seed, shape, index // every), None)
    return ActorNoise(rng.normal("act/normal", shape, index), None)


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ActorNoise | None) -> Acted:
    """Actions of N environments; without noise the middle of the distribution."""
    if noise is not None and noise.uniform is not None:
        return Acted(noise.uniform, None, {})
    with torch.inference_mode():
        x = tensor(learner, obs)
        return Acted(chosen(learner, learner.nets["actor"], x, noise), None, {})


def chosen(learner: Learner, actor: Any, x: Any, noise: ActorNoise | None) -> Any:
    """The actor's choice at observations `x`, as an array `[N, A]`."""
    if noise is None:
        return actor(x).mode().cpu().numpy()
    actions, normal = actor.noisy(x, tensor(learner, noise.normal))
    return actions.sample(normal[:, :0], normal).cpu().numpy()


def update_noise(actor: Any, rng: Rng, stream: str, index: int, count: int) -> Floats:
    """What update `index` draws its `count` actions with: `[2, count, A]` for the successors and
    for the states; with gSDE `[2, features, A]`, one matrix for the whole batch."""
    each = () if actor.use_sde else (count,)
    return rng.normal(stream, (2, *each, *actor.noise_shape()), index)


def drawn(nets: dict[str, Any], obs: Any, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Actions `[B, A]` of the policy, and their log-probabilities `[B]`."""
    actions, normal = nets["actor"].noisy(obs, noise)
    x = actions.mean + actions.std * normal
    return torch.tanh(x), squashed_log_prob(x, actions.mean, actions.std)


def squashed_log_prob(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Of `tanh(x)`, x drawn from the Gaussian: `log N(x) - sum log(1 - tanh(x)^2)`, stable form."""
    gaussian = -0.5 * ((x - mean) / std).square() - std.log() - HALF_LOG_TWO_PI
    correction = 2.0 * (LOG_2 - x - torch.nn.functional.softplus(-2.0 * x))
    return (gaussian - correction).sum(-1)


HALF_LOG_TWO_PI, LOG_2 = 0.5 * float(np.log(2.0 * np.pi)), float(np.log(2.0))


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor
) -> tuple[Tensor, dict[str, Any]]:
    """Equation 5: half the squared error, summed over critics."""
    with torch.no_grad():
        action, log_prob = drawn(nets, batch.next_obs, normal)
        following = nets["target"](batch.next_obs, action).amin(0) - alpha * log_prob
        target = batch.reward + batch.extras["discount"] * following
    return critic_regression(nets, batch, target)


def smallest(q: Tensor) -> Tensor:
    """`[E, B] -> [B]`."""
    return q.amin(0)


def actor_loss(
    nets: dict[str, Any],
    batch: Steps,
    normal: Tensor,
    alpha: Tensor,
    joined: Callable[[Tensor], Tensor] = smallest,
) -> tuple[Tensor, dict[str, Any]]:
    """Equation 9; `joined` makes one value of the critics'."""
    action, log_prob = drawn(nets, batch.obs, normal)
    with frozen(nets["critic"]):
        q = joined(nets["critic"](batch.obs, action))
    loss = (alpha * log_prob - q).mean()
    metrics = {
        "train/loss/actor": loss.detach(),
        "train/metrics/entropy": -log_prob.detach().mean(),
        "train/metrics/alpha": alpha,
        "log_prob": log_prob.detach(),
    }
    return loss, metrics


def temperature_loss(
    nets: dict[str, Any], log_prob: Tensor, entropy: float
) -> tuple[Tensor, dict[str, Any]]:
    """Equation 18, with the logarithm in place of the temperature."""
    loss = -(nets["alpha"].log_alpha * (log_prob + entropy)).mean()
    return loss, {"train/loss/alpha": loss.detach()}


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics, actor, temperature and targets, in turn on each batch."""
    actor = learner.nets["actor"]
    entropy = target_entropy(actor, cfg)

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        normal = tensor(learner, update_noise(actor, rng, "sac", index, len(batch.reward)))
        alpha = temperature(learner, cfg)
        made = [learner.step("critic", critic_loss, batch, normal[0], alpha)]
        made += improve_policy(learner, actor_loss, (batch, normal[1], alpha), entropy, cfg)
        learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once)


def improve_policy(
    learner: Learner, loss: Any, args: tuple[Any, ...], entropy: float, cfg: Any
) -> list[Metrics]:
    """A step of the actor, and one of the temperature towards the target entropy if it learns."""
    made: list[Metrics] = [learner.step("actor", loss, *args)]
    log_prob = made[0].pop("log_prob")
    if cfg.ent_coef == "auto":
        made.append(learner.step("alpha", temperature_loss, log_prob, entropy))
        made[-1]["train/metrics/target_entropy"] = entropy
    return made


def target_entropy(actor: Any, cfg: Any) -> float:
    """Haarnoja et al.'s rule: minus the number of dimensions."""
    if cfg.target_entropy == "auto":
        return -float(actor.mean.out_features)
    return float(cfg.target_entropy)


def temperature(learner: Learner, cfg: Any) -> Tensor:
    if cfg.ent_coef == "auto":
        return learner.nets["alpha"].log_alpha.detach().exp()  # type: ignore[no-any-return]
    return torch.tensor(float(cfg.ent_coef), device=learner.device)
