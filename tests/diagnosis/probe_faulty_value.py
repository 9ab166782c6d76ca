"""PPO whose value network is frozen: nothing reaches it."""

from __future__ import annotations

from typing import Any

from dressage.algos import ppo
from dressage.algos.ppo import (
    NEEDS,
    Config,
    act,
    carry_size,
    check,
    init,
    memory,
    noise,
    prepare,
    rollout_length,
)

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


def update(learner: Any, memory: Any, rng: Any, cfg: Any) -> Any:
    before = learner.groups["all"].values["value"].clone()
    metrics = ppo.update(learner, memory, rng, cfg)
    learner.groups["all"].values["value"].copy_(before)
    return metrics
