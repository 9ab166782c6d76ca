"""Bootstrapped DQN, Osband et al. 2016 (arXiv 1602.04621), and exploring by an upper bound of its
heads, Chen et al. 2017 (arXiv 1706.01502).

One network has `heads` of action values, each trained with double DQN towards a target of its own
(Osband, appendix D): where little is known they disagree. `explore=episode` follows one head, drawn
anew for each episode, in all that it holds to be best (Osband, algorithm 1). `explore=ucb` takes
the action with the largest `mean + ucb_coef deviation` over the heads (Chen, algorithm 2). To act
without exploring is to take the best mean.

With `prior_scale` above 0 a fixed random network is added to each head (Osband et al. 2018, arXiv
1806.03335, section 3), so that heads go on disagreeing about what none of them has seen.

Deviations: all heads learn from all steps, as in Osband's experiments on Atari (a mask for each
head made no difference there, section 6.1). The loss is the mean over the heads, which normalises
the gradient of the part that they share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dressage.algos import value_based
from dressage.algos.off_policy import (
    GAP_STEPS,
    VALUE_METRICS_AT_TIMES,
    memory,
    rollout_length,
    td_metrics,
    tensor,
)
from dressage.algos.value_based import (
    METRICS,
    QUIET,
    LayerNoise,
    ValueSettings,
    acting_noise,
    best,
    check,
    chosen,
    learn,
    q_learner,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import SchedulableRate, SchedulableShare
from dressage.explore.choices import ChoiceNoise, choose
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


class Config(ValueSettings):
    """Settings of bootstrapped DQN."""

    heads: int = Field(10, ge=2, description="of action values, on one trunk")
    explore: Literal["episode", "ucb"] = Field(
        "episode", description="by one head an episode, or by the heads' upper bound"
    )
    ucb_coef: SchedulableRate = Field(1.0, description="ucb: deviations above the mean")
    prior_scale: float = Field(3.0, ge=0, description="of fixed random networks beside the heads")
    epsilon: SchedulableShare = Field(0.0, description="share of random actions besides")


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    metrics=(*METRICS, "train/metrics/critic_disagreement"),
    metrics_at_times=VALUE_METRICS_AT_TIMES,
    preview=True,
)


class HeadNoise(NamedTuple):
    """Random numbers for acting in N environments, and how heads are made use of."""

    choice: ChoiceNoise
    head: npt.NDArray[np.int64]  # [N]: for the episodes that begin now
    ucb_coef: float


def init(task: Task, cfg: Config) -> Learner:
    """A network with `heads` in place of a distribution's atoms, its slow copy, and the prior."""
    from dressage.nets.initialise import build
    from dressage.nets.q_network import QNetwork

    learner = q_learner(task, cfg, cfg.heads)
    if cfg.prior_scale > 0:
        plain = cfg.model_copy(update={"noisy": False})

        def make() -> Any:
            return QNetwork(task.spec, plain, task.custom_net, cfg.heads).requires_grad_(False)

        learner.add_net("prior", build(make, "prior", task.rng, cfg.ortho_init))
        learner.nets["prior"].scale = cfg.prior_scale
    learner.nets["q"].carry_size = int(cfg.explore == "episode")  # the head, from 1; 0: none yet
    return learner


def carry_size(learner: Learner) -> int:
    return int(learner.nets["q"].carry_size)


def heads_of(nets: dict[str, Any], name: str, obs: Any, noise: Tensor | None = None) -> Tensor:
    """`[B, choices, heads]`, with the prior."""
    q: Tensor = nets[name](obs, noise)
    if "prior" in nets:
        with torch.no_grad():
            known = nets["prior"](obs)
        q = q + nets["prior"].scale * known
    return q


# -- acting --------------------------------------------------------------------------------------


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Config) -> HeadNoise:
    return HeadNoise(
        value_based.noise(rng, index, n_envs, learner, cfg),
        rng.integers("act/head", n_envs, cfg.heads, index),
        cfg.ucb_coef,
    )


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: HeadNoise | None) -> Acted:
    """Actions of N environments; without noise the best by the mean of the heads."""
    layers = acting_noise(learner, noise.choice if noise is not None else None)
    with torch.inference_mode():
        q = heads_of(learner.nets, "q", tensor(learner, obs), layers).cpu().numpy()
    categories = learner.nets["q"].categories
    if noise is None:
        return Acted(choose(q.mean(-1), categories, mask, None), carry, {})
    if carry is None:
        bound = q.mean(-1) + np.float32(noise.ucb_coef) * q.std(-1)
        return Acted(choose(bound, categories, mask, noise.choice), None, {})
    head = np.where(carry[:, 0] > 0, carry[:, 0].astype(np.int64) - 1, noise.head)
    of_head = np.take_along_axis(q, head[:, None, None], axis=-1)[..., 0]
    after = (head[:, None] + 1).astype(np.float32)
    return Acted(choose(of_head, categories, mask, noise.choice), after, {})


def prepare(learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
    """Steps are kept without the heads that made them: all learn from all."""
    extras = {name: values for name, values in steps.extras.items() if name != "carry"}
    return steps._replace(extras=extras), {}


# -- learning ------------------------------------------------------------------------------------


def best_of_heads(q: Tensor, categories: Any, mask: Tensor | None) -> Tensor:
    """`[B, choices, heads]` -> `[B, actions, heads]`: what each head would do."""
    count, choices, heads = q.shape
    rows = q.transpose(1, 2).reshape(count * heads, choices)
    mask = None if mask is None else mask.repeat_interleave(heads, dim=0)
    return best(rows, categories, mask).view(count, heads, -1).transpose(1, 2)


def of_heads(q: Tensor, action: Tensor, categories: Any) -> Tensor:
    """`[B, choices, heads]` at `[B, actions, heads]`."""
    parts = torch.split(q, list(categories), dim=1)
    return torch.cat(
        [part.take_along_dim(action[:, i : i + 1], 1) for i, part in enumerate(parts)], dim=1
    )


def heads_loss(
    nets: dict[str, Any], batch: Steps, cfg: Any, noise: LayerNoise = QUIET
) -> tuple[Tensor, dict[str, Tensor]]:
    """Each head's Huber loss towards its own target; `[B, …]`."""
    categories, extras = nets["q"].categories, batch.extras
    with torch.no_grad():
        slow = heads_of(nets, "target", batch.next_obs, noise.target)
        chooser = heads_of(nets, "q", batch.next_obs, noise.chooser) if cfg.double else slow
        action = best_of_heads(chooser, categories, extras.get("next_mask"))
        following = of_heads(slow, action, categories).mean(1)  # [B, heads]
        target = batch.reward.unsqueeze(-1) + extras["discount"].unsqueeze(-1) * following
    q = chosen(heads_of(nets, "q", batch.obs, noise.online), batch.action, categories)
    error = target.unsqueeze(1) - q  # [B, actions, heads]
    huber = torch.nn.functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    loss = (extras["weight"] * huber.mean((1, 2))).mean()
    metrics = td_metrics(q, error) | {
        "train/loss/td": loss.detach(),
        "train/metrics/critic_disagreement": q.detach().std(-1).mean(),
        "priority": error.detach().abs().mean((1, 2)),
    }
    return loss, metrics


def drift_and_gap(learner: Learner, memory: Replay, batch: Steps, cfg: Any) -> dict[str, float]:
    """How far network and target are apart, and how far values lie above what followed."""
    nets = learner.nets
    with torch.inference_mode():
        drift = (nets["q"](batch.obs) - nets["target"](batch.obs)).mean(-1).abs().mean()
        metrics = {"train/metrics/target_drift": float(drift)}
        recent = memory.recent_returns(cfg.gamma, GAP_STEPS)
        if recent is None:
            return metrics
        obs, action, returns = recent
        values = heads_of(nets, "q", tensor(learner, obs)).mean(-1)
        q = chosen(values, tensor(learner, action), nets["q"].categories).mean()
        return metrics | {"train/metrics/q_gap": float(q) - float(returns.mean())}


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    return learn(learner, memory, rng, cfg, heads_loss, drift_and_gap)
