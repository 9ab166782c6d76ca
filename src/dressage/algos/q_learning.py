"""Q-learning with a table, Watkins 1989; Sutton and Barto 2018, section 6.5.

`Q(s, a) <- Q(s, a) + learning_rate (r + gamma max_a' Q(s', a') - Q(s, a))`, equation 6.8, after
every step. For Discrete observations, and for learning how it works.

Deviations: several environments learn one after the other from the same step. An action of several
choices has a value for each, and one target, the mean over them.
"""

from __future__ import annotations

from typing import Any

from dressage.algos.tabular import (
    NEEDS,
    LastStep,
    Table,
    TdSettings,
    act,
    carry_size,
    check,
    init,
    learn,
    memory,
    noise,
    prepare,
    rollout_length,
    values_after,
)
from dressage.core.rng import Rng

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


class Config(TdSettings):
    """Settings of Q-learning."""


def update(table: Table, memory: LastStep, rng: Rng, cfg: Any) -> list[dict[str, float]]:
    step = memory.step
    target = step.reward + cfg.gamma * values_after(table, step, None)
    return learn(table, step, target, cfg.learning_rate)
