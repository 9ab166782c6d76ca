"""UCB1 for bandits, Auer et al. 2002 ("Finite-time analysis of the multiarmed bandit problem").

Takes the arm with the largest `mean + exploration sqrt(2 ln t / n)`: n times it was taken, t times
any was (figure 1); arms that were never taken come first. Its regret grows with ln t, whatever the
arms pay, if rewards lie in [0, 1]; scale `exploration` for others.

Each state of a Discrete observation is a bandit of its own; a plain bandit has one state. With
`gamma` above 0 the mean is of `r + gamma max Q(s')`, so that later rewards count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from dressage.algos import tabular
from dressage.algos.tabular import (
    NEEDS,
    LastStep,
    Table,
    TableSettings,
    carry_size,
    check,
    init,
    memory,
    prepare,
    rollout_length,
    values_after,
)
from dressage.core.collector import Acted
from dressage.core.config import SchedulableRate, SchedulableShare
from dressage.core.rng import Rng
from dressage.core.steps import Tree
from dressage.explore.choices import choose

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


class Config(TableSettings):
    """Settings of UCB1."""

    gamma: SchedulableShare = Field(0.0, description="discount; 0: a bandit")
    exploration: SchedulableRate = Field(1.0, description="weight of the bonus; 0: none")


class Bonus(NamedTuple):
    """How much uncertainty counts while exploring. Nothing is drawn: UCB1 is deterministic."""

    exploration: float


def noise(rng: Rng, index: int, n_envs: int, learner: Table, cfg: Any) -> Bonus:
    return Bonus(cfg.exploration)


def act(learner: Table, obs: Tree, carry: Any, mask: Any, noise: Bonus | None) -> Acted:
    """Actions of N environments; without the bonus the arms of the best mean."""
    if noise is None:
        return tabular.act(learner, obs, carry, mask, None)
    states = learner.states(obs)
    n, first = learner.visits[states], learner.categories[0]
    t = n[:, :first].sum(axis=1, keepdims=True)  # every step takes one choice of each action
    with np.errstate(divide="ignore", invalid="ignore"):
        bonus = noise.exploration * np.sqrt(2.0 * np.log(np.maximum(t, 1)) / n)
    score: Any = np.where(n == 0, 1e9, learner.q[states] + bonus)
    return Acted(choose(score, learner.categories, mask, None), None, {})


def update(table: Table, memory: LastStep, rng: Rng, cfg: Any) -> list[dict[str, float]]:
    """The mean of all that followed a choice."""
    step = memory.step
    target = step.reward + cfg.gamma * values_after(table, step, None)
    return tabular.learn(table, step, target, rate=None)
