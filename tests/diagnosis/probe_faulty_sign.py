"""PPO whose policy goes the wrong way: the sign of its loss is flipped."""

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
    rollout_length,
    update,
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


def prepare(learner: Any, steps: Any, cfg: Any) -> Any:
    steps, metrics = ppo.prepare(learner, steps, cfg)
    return steps._replace(extras=steps.extras | {"advantage": -steps.extras["advantage"]}), metrics
