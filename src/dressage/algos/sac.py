"""Soft actor-critic, Haarnoja et al. 2018 (arXiv 1812.05905).

Critics: `Q(s, a)` towards `r + gamma (min_i Q'_i(s', a') - alpha log pi(a'|s'))`, a' drawn from the
policy (equations 5 and 6). Actor: minimises `alpha log pi(a|s) - min_i Q_i(s, a)` with a
reparameterised (equation 9). Temperature: moves so that the entropy meets `target_entropy`
(equation 18), or stays fixed.

Deviations: the temperature's loss is linear in its logarithm, as in the authors' code. Actions are
in [-1, 1]; the first `learning_starts` are uniform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from dressage.algos.off_policy import (
    GAP_STEPS,
    UPDATE_METRICS,
    VALUE_METRICS,
    VALUE_METRICS_AT_TIMES,
    bounded_actions,
    check,
    frozen,
    memory,
    prepare,
    random_now,
    replay_metrics,
    rollout_length,
    td_metrics,
    tensor,
    updates_due,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import (
    Activation,
    Count,
    OptimizerSettings,
    SchedulableBound,
    SchedulablePositive,
    SchedulableRate,
    SchedulableShare,
    TorsoSettings,
)
from dressage.core.learner import Learner
from dressage.core.replay import Replay, ReplaySettings
from dressage.lazy import torch

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

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


class Config(TorsoSettings, ReplaySettings, OptimizerSettings):
    """Settings of SAC; the defaults are the paper's."""

    net_arch: list[Count] | dict[str, list[Count]] = Field(
        [256, 256], description="hidden widths; or {policy: [...], value: [...]}"
    )
    activation: Activation = Field("relu", description="of hidden layers")
    ortho_init: bool = Field(False, description="orthogonal weights instead of PyTorch's default")
    optimizer_eps: SchedulablePositive = Field(1e-8, description="epsilon of the optimizer")
    max_grad_norm: SchedulableBound = Field("inf", description="gradients are clipped to this norm")
    value_learning_rate: SchedulableRate | None = Field(
        None, description="of the critics; none: the same"
    )
    tau: SchedulableShare = Field(0.005, description="share by which targets follow each update")
    n_critics: Count = Field(2, description="of whose values the smallest counts")
    ent_coef: Literal["auto"] | Annotated[float, Field(ge=0)] = Field(
        "auto", description="weight of the entropy; auto: learned"
    )
    ent_coef_init: float = Field(1.0, gt=0, description="auto: its first value")
    target_entropy: Literal["auto"] | float = Field(
        "auto", description="auto: minus the number of action dimensions"
    )


NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    metrics=(
        *UPDATE_METRICS,
        *VALUE_METRICS,
        "train/loss/critic",
        "train/loss/actor",
        "train/metrics/entropy",
        "train/metrics/alpha",
        "train/metrics/critic_disagreement",
    ),
    metrics_at_times=(*VALUE_METRICS_AT_TIMES, "train/loss/alpha", "train/metrics/target_entropy"),
    preview=True,
)


class ActorNoise(NamedTuple):
    """Random numbers for acting in N environments: `[N, A]`; `uniform` while all is random."""

    normal: npt.NDArray[np.float32]
    uniform: npt.NDArray[np.float32] | None


def init(task: Task, cfg: Config) -> Learner:
    """An actor, critics with their slow copies, and the temperature."""
    from dressage.nets.continuous import Critics, GaussianActor, Temperature
    from dressage.nets.initialise import build

    bounded_actions(task.spec)
    learner = Learner(device=task.device, precision=task.run.precision, compile=task.run.compile)
    spec, custom, ortho = task.spec, task.custom_net, cfg.ortho_init
    actor = build(lambda: GaussianActor(spec, cfg, custom), "actor", task.rng, ortho)
    critic = build(lambda: Critics(spec, cfg, cfg.n_critics, custom), "critic", task.rng, ortho)
    learner.add_group("actor", {"actor": learner.add_net("actor", actor)}, cfg)
    learner.add_group("critic", {"critic": learner.add_net("critic", critic)}, cfg)
    learner.add_target("target", "critic", "critic")
    if cfg.ent_coef == "auto":
        temperature = learner.add_net("alpha", Temperature(cfg.ent_coef_init))
        learner.add_group("alpha", {"alpha": temperature}, cfg)
    return learner


def carry_size(learner: Learner) -> int:
    return int(learner.nets["actor"].carry_size)


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Config) -> ActorNoise:
    shape = n_envs, learner.nets["actor"].mean.out_features
    if random_now(cfg, index, n_envs):
        uniform = 2.0 * rng.uniform("act/uniform", shape, index) - 1.0
        return ActorNoise(uniform, uniform)
    return ActorNoise(rng.normal("act/normal", shape, index), None)


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ActorNoise | None) -> Acted:
    """Actions of N environments; without noise the middle of the distribution."""
    if noise is not None and noise.uniform is not None:
        return Acted(noise.uniform, None, {})
    with torch.inference_mode():
        actions = learner.nets["actor"](tensor(learner, obs))
        if noise is None:
            return Acted(actions.mode().cpu().numpy(), None, {})
        normal = tensor(learner, noise.normal)
        return Acted(actions.sample(normal[:, :0], normal).cpu().numpy(), None, {})


def drawn(nets: dict[str, Any], obs: Any, normal: Tensor) -> tuple[Tensor, Tensor]:
    """Actions `[B, A]` of the policy, and their log-probabilities `[B]`."""
    actions = nets["actor"](obs)
    x = actions.mean + actions.std * normal
    return torch.tanh(x), squashed_log_prob(x, actions.mean, actions.std)


def squashed_log_prob(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Of `tanh(x)`, x drawn from the Gaussian: `log N(x) - sum log(1 - tanh(x)^2)`, stable form."""
    gaussian = -0.5 * ((x - mean) / std).square() - std.log() - HALF_LOG_TWO_PI
    correction = 2.0 * (LOG_2 - x - torch.nn.functional.softplus(-2.0 * x))
    return (gaussian - correction).sum(-1)


HALF_LOG_TWO_PI, LOG_2 = 0.5 * float(np.log(2.0 * np.pi)), float(np.log(2.0))


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor, cfg: Config
) -> tuple[Tensor, dict[str, Any]]:
    """Equation 5: half the squared error, summed over critics."""
    with torch.no_grad():
        action, log_prob = drawn(nets, batch.next_obs, normal)
        following = nets["target"](batch.next_obs, action).amin(0) - alpha * log_prob
        target = batch.reward + batch.extras["discount"] * following
    q = nets["critic"](batch.obs, batch.action)  # [E, B]
    error = target - q
    loss = 0.5 * (batch.extras["weight"] * error.square()).mean(-1).sum()
    with torch.no_grad():
        metrics = td_metrics(q, error) | {
            "train/loss/critic": loss.detach(),
            "train/metrics/critic_disagreement": (q.amax(0) - q.amin(0)).mean(),
            "train/metrics/target_drift": (nets["target"](batch.obs, batch.action) - q)
            .abs()
            .mean(),
            "td_error": error.abs().mean(0),
        }
    return loss, metrics


def actor_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor
) -> tuple[Tensor, dict[str, Any]]:
    """Equation 9."""
    action, log_prob = drawn(nets, batch.obs, normal)
    with frozen(nets["critic"]):
        q = nets["critic"](batch.obs, action).amin(0)
    loss = (alpha * log_prob - q).mean()
    metrics = {
        "train/loss/actor": loss.detach(),
        "train/metrics/entropy": -log_prob.detach().mean(),
        "train/metrics/alpha": alpha,
        "log_prob": log_prob.detach(),
    }
    return loss, metrics


def temperature_loss(
    nets: dict[str, Any], log_prob: Tensor, target_entropy: float
) -> tuple[Tensor, dict[str, Any]]:
    """Equation 18, with the logarithm in place of the temperature."""
    loss = -(nets["alpha"].log_alpha * (log_prob + target_entropy)).mean()
    return loss, {"train/loss/alpha": loss.detach()}


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    """Critics, actor, temperature and targets, in turn on each batch."""
    count, inspect = updates_due(memory, cfg), learner.inspect_next
    value_rate = cfg.learning_rate if cfg.value_learning_rate is None else cfg.value_learning_rate
    for group in learner.groups:
        rate = value_rate if group == "critic" else cfg.learning_rate
        learner.set_optimizer(group, cfg, {group: rate})
    dimensions = learner.nets["actor"].mean.out_features
    target_entropy = -float(dimensions) if cfg.target_entropy == "auto" else cfg.target_entropy
    collected: list[dict[str, Any]] = []
    place: Any = None
    for batch in memory.batches(rng, count, cfg):
        index, place = memory.draws, batch.extras["place"]
        normal = tensor(learner, rng.normal("sac", (2, len(place), dimensions), index))
        x = learner.tensors(batch)
        alpha = temperature(learner, cfg)
        metrics = learner.step("critic", critic_loss, x, normal[0], alpha, cfg)
        error = metrics.pop("td_error")
        if cfg.prioritized:
            memory.feedback(place, error.cpu().numpy(), cfg)
        acted = learner.step("actor", actor_loss, x, normal[1], alpha)
        log_prob = acted.pop("log_prob")
        collected += [metrics, acted]
        if cfg.ent_coef == "auto":
            collected.append(learner.step("alpha", temperature_loss, log_prob, target_entropy))
        learner.follow("target", cfg.tau)
    for metrics in collected:
        del metrics["train/metrics/grad_norm/total"]  # of several optimizers there is none
    if collected and inspect:
        collected[-1] |= replay_metrics(memory, place, count, cfg) | value_gap(learner, memory, cfg)
        if cfg.ent_coef == "auto":
            collected[-1]["train/metrics/target_entropy"] = target_entropy
    return collected


def temperature(learner: Learner, cfg: Config) -> Tensor:
    if cfg.ent_coef == "auto":
        return learner.nets["alpha"].log_alpha.detach().exp()  # type: ignore[no-any-return]
    return torch.tensor(float(cfg.ent_coef), device=learner.device)


def value_gap(learner: Learner, memory: Replay, cfg: Config) -> dict[str, float]:
    """How far the critics' values lie above the returns that followed (overestimation); the
    entropy that they count in as well is a part of it."""
    recent = memory.recent_returns(cfg.gamma, GAP_STEPS)
    if recent is None:
        return {}
    obs, action, returns = recent
    with torch.inference_mode():
        q = learner.nets["critic"](tensor(learner, obs), tensor(learner, action)).amin(0)
        return {"train/metrics/q_gap": float(q.mean()) - float(returns.mean())}
