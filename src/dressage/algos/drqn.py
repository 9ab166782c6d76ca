"""Recurrent DQN: Hausknecht and Stone 2015 (arXiv 1507.06527), with the stored state and the
burn-in of Kapturowski et al. 2019 ("Recurrent experience replay", R2D2).

The loss is DQN's, over sequences. A sequence begins with the state that the network had when the
steps were made; the first `burn_in` steps only bring that state up to date with the weights of
now, and the `sequence_length` steps after them are learned from, in both networks alike. A step
that the clock ended bootstraps from its true successor, with the state after that step.

Double, dueling and noisy as in DQN. Deviations: with `double` the actions after a step are chosen
in the same pass that is learned from, so noisy layers have the same noise in both. Sequences are
drawn uniformly, and bootstrap after one step (the paper: by priority, and after five). They may
begin anywhere and go on into the next episode, where the state begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from dressage.algos.dqn import huber_loss, td_target
from dressage.algos.off_policy import VALUE_METRICS_AT_TIMES, prepare, rollout_length, tensor
from dressage.algos.sequences import along, check, learned_from, memory
from dressage.algos.value_based import (
    METRICS,
    QUIET,
    LayerNoise,
    ValueSettings,
    acting_noise,
    best,
    carry_size,
    chosen,
    learn,
    noise,
    q_learner,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import Count
from dressage.core.steps import tree_map
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
    """Settings of recurrent DQN."""

    recurrent: Literal["gru", "lstm"] = Field("lstm", description="the recurrent cell")
    sequence_length: Count = Field(16, description="steps of a sequence that are learned from")
    burn_in: int = Field(8, ge=0, description="steps before them, for the state alone")
    batch_size: int = Field(32, ge=1, description="sequences of an update")
    buffer_size: int = Field(100_000, ge=1, description="newest transitions that are kept")
    double: bool = Field(True, description="the network chooses what the target values")


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    recurrent=True,
    masks=True,
    metrics=METRICS,
    metrics_at_times=VALUE_METRICS_AT_TIMES,
    preview=True,
)


def init(task: Task, cfg: Config) -> Learner:
    return q_learner(task, cfg)


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ChoiceNoise | None) -> Acted:
    """Actions of N environments; without noise the best ones."""
    net = learner.nets["q"]
    with torch.inference_mode():
        one = tree_map(lambda leaf: leaf.unsqueeze(0), tensor(learner, obs))  # a sequence of one
        first = torch.zeros((1, len(carry)), dtype=torch.bool, device=learner.device)
        q, after = net.along(one, tensor(learner, carry), first, acting_noise(learner, noise))
        q = q.squeeze(0).cpu().numpy()
    return Acted(choose(q, net.categories, mask, noise), after.cpu().numpy(), {})


def drqn_loss(
    nets: dict[str, Any], batch: Steps, cfg: Any, noise: LayerNoise = QUIET
) -> tuple[Tensor, dict[str, Tensor]]:
    """DQN's loss over the steps after the burn-in; `[L, B, …]`."""
    steps, sequence = learned_from(batch, cfg.burn_in)
    categories, place = nets["q"].categories, sequence.place
    column = torch.arange(place.shape[1], device=place.device).expand_as(place)
    online = along(nets["q"], batch, sequence, cfg.burn_in, noise.online)
    with torch.no_grad():
        target = along(nets["target"], batch, sequence, cfg.burn_in, noise.target)
        after = target[place + 1, column].flatten(0, 1)
        chooser = online[place + 1, column].flatten(0, 1) if cfg.double else after
        action = best(chooser, categories, steps.extras.get("next_mask"))
        goal = td_target(steps, chosen(after, action, categories).mean(-1))
    q = chosen(online[place, column].flatten(0, 1), steps.action, categories)
    return huber_loss(q, goal, steps.extras["weight"])


def drift(learner: Learner, memory: Replay, batch: Steps, cfg: Any) -> dict[str, float]:
    """How far the two networks are apart."""
    with torch.inference_mode():
        _, sequence = learned_from(batch, cfg.burn_in)
        q, target = (
            along(learner.nets[name], batch, sequence, cfg.burn_in, None)
            for name in ("q", "target")
        )
        return {"train/metrics/target_drift": float((q - target).abs().mean())}


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    return learn(learner, memory, rng, cfg, drqn_loss, drift)
