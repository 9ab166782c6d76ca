"""SARSA with a table, Rummery and Niranjan 1994; Sutton and Barto 2018, section 6.4.

`Q(s, a) <- Q(s, a) + learning_rate (r + gamma Q(s', a') - Q(s, a))`, equation 6.7, a' being the
action that the exploring policy takes next: it learns what that policy is worth, where Q-learning
learns what the best one would be (the cliff of example 6.6).

Deviations: as in Q-learning; and a' is drawn with the random numbers of the next step, before the
update, and the step itself chooses after it. The two differ only where a step leads back to the
state that it came from, and the update changed which action is the best there.
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
    """Settings of SARSA."""


def update(table: Table, memory: LastStep, rng: Rng, cfg: Any) -> list[dict[str, float]]:
    step, collector = memory.step, memory.collector
    following = noise(rng, collector.vector_steps, collector.n_envs, table, cfg)
    target = step.reward + cfg.gamma * values_after(table, step, following)
    return learn(table, step, target, cfg.learning_rate)
