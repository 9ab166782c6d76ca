"""Soft actor-critic for choices, Christodoulou 2019 (arXiv 1910.07207).

SAC with expectations over all choices in place of draws. With
`V(s) = sum_a pi(a|s) (min_i Q_i(s, a) - alpha log pi(a|s))` (equation 10) the critics go towards
`r + gamma V'(s')`, and the actor maximises V (equation 12). The temperature moves so that the
entropy meets a share of the largest one there is, `ln n` (equation 11).

Deviations: the temperature's loss is linear in its logarithm. Where masks forbid choices, the
largest entropy is that of those allowed. An action of several choices has values for each, which
share one target, the mean over them (Tavakoli et al. 2018, equation 6). `target_entropy_ratio` is
the paper's 0.98, and may have a schedule: Xu et al. 2021 (arXiv 2112.02852) lower it, since a
policy that random is far from the best one where many choices are bad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from dressage.algos.continuous import (
    METRICS,
    METRICS_AT_TIMES,
    ContinuousSettings,
    Metrics,
    TargetSettings,
    carry_size,
    check,
    critic_metrics,
    learn,
)
from dressage.algos.off_policy import memory, prepare, random_now, rollout_length, tensor
from dressage.algos.sac import (
    ENTROPY_METRICS,
    ENTROPY_METRICS_AT_TIMES,
    EntropySettings,
    improve_policy,
    soft_learner,
    temperature,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import SchedulableShare
from dressage.lazy import torch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
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


class Config(ContinuousSettings, TargetSettings, EntropySettings):
    """Settings of discrete SAC; the defaults are SAC's."""

    target_entropy: Literal["auto"] | float = Field(
        "auto", description="auto: target_entropy_ratio of the largest there is"
    )
    target_entropy_ratio: SchedulableShare = Field(
        0.98, description="share of the largest entropy that the temperature aims at"
    )


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    metrics=(*METRICS, *ENTROPY_METRICS),
    metrics_at_times=(*METRICS_AT_TIMES, *ENTROPY_METRICS_AT_TIMES),
    preview=True,
)


class DrawNoise(NamedTuple):
    """Random numbers `[N, K]` for drawing K choices; `random`: all allowed ones alike."""

    uniform: npt.NDArray[np.float32]
    random: bool


def init(task: Task, cfg: Config) -> Learner:
    """An actor, critics with their slow copies, and the temperature."""
    from dressage.nets.choices import ChoiceActor, ChoiceCritics

    spec, custom = task.spec, task.custom_net
    return soft_learner(
        task,
        cfg,
        actor=lambda: ChoiceActor(spec, cfg, custom),
        critic=lambda: ChoiceCritics(spec, cfg, cfg.n_critics, custom),
    )


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Config) -> DrawNoise:
    shape = n_envs, len(learner.nets["actor"].categories)
    return DrawNoise(rng.uniform("act/choice", shape, index), random_now(cfg, index, n_envs))


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: DrawNoise | None) -> Acted:
    """Actions of N environments; without noise the most probable ones."""
    actor = learner.nets["actor"]
    with torch.inference_mode():
        allowed = None if mask is None else tensor(learner, mask)
        if noise is None:
            return Acted(actor(tensor(learner, obs), allowed).mode().cpu().numpy(), None, {})
        uniform = tensor(learner, noise.uniform)
        if noise.random:
            actions = actor.over(uniform.new_zeros(len(uniform), sum(actor.categories)), allowed)
        else:
            actions = actor(tensor(learner, obs), allowed)
        return Acted(actions.sample(uniform, uniform[:, :0]).cpu().numpy(), None, {})


def soft_values(actor: Any, q: Tensor, obs: Any, mask: Tensor | None, alpha: Tensor) -> Any:
    """Equation 10 with values `q [B, C]`, the mean over K choices, and the policy's entropy, their
    sum: `[B]` both."""
    log_p = torch.cat(actor(obs, mask).log_probs, dim=-1)
    p = log_p.exp()
    value = (p * (q - alpha * log_p)).sum(-1) / len(actor.categories)
    return value, -(p * log_p).sum(-1)


def critic_loss(
    nets: dict[str, Any], batch: Steps, alpha: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Half the squared error of the values of what was chosen, summed over critics."""
    x = batch.extras
    with torch.no_grad():
        q = nets["target"].values(batch.next_obs).amin(0)
        following, _ = soft_values(nets["actor"], q, batch.next_obs, x.get("next_mask"), alpha)
        target = batch.reward + x["discount"] * following
    q = nets["critic"].chosen(nets["critic"].values(batch.obs), batch.action)  # [E, B, K]
    error = target.unsqueeze(-1) - q
    loss = 0.5 * (x["weight"] * error.square().mean(-1)).mean(-1).sum()
    return loss, critic_metrics(loss, q.detach().mean(-1), error.mean(-1))


def actor_loss(
    nets: dict[str, Any], batch: Steps, alpha: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Equation 12: minus the soft value of the policy."""
    with torch.no_grad():
        q = nets["critic"].values(batch.obs).amin(0)
    value, entropy = soft_values(nets["actor"], q, batch.obs, batch.extras.get("mask"), alpha)
    loss = -value.mean()
    return loss, {
        "train/loss/actor": loss.detach(),
        "train/metrics/entropy": entropy.detach().mean(),
        "train/metrics/alpha": alpha,
        "log_prob": -entropy.detach(),
    }


def target_entropy(categories: Any, batch: Steps, cfg: Config) -> float:
    """A share of the entropy of taking each allowed choice alike, on average over the batch."""
    if cfg.target_entropy != "auto":
        return float(cfg.target_entropy)
    mask = batch.extras.get("mask")
    if mask is None:
        largest = torch.tensor(categories).log().sum()
    else:
        parts = torch.split(mask, list(categories), dim=-1)
        largest = torch.stack([part.sum(-1).log() for part in parts]).sum(0).mean()
    return float(cfg.target_entropy_ratio * largest)


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics, actor, temperature and targets, in turn on each batch."""
    categories = learner.nets["actor"].categories

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        alpha, entropy = temperature(learner, cfg), target_entropy(categories, batch, cfg)
        made = [learner.step("critic", critic_loss, batch, alpha)]
        made += improve_policy(learner, actor_loss, (batch, alpha), entropy, cfg)
        learner.follow("target", cfg.tau)
        return made

    return learn(learner, memory, rng, cfg, update_once)
