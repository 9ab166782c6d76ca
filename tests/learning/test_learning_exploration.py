"""Does exploring help where nothing else does? Sparse tasks, each way beside none.

Five seeds and more are in benchmarks/results/parts/; one seed is enough here.
"""

from __future__ import annotations

import tempfile
from typing import Any

import pytest

import dressage

pytestmark = pytest.mark.learning
COMMON: dict[str, Any] = {
    "backend": "inline",
    "engine": "torch",
    "eval_every": 0,
    "checkpoint_every": 10**9,
    "log_every": 10**9,
}
CORRIDOR: dict[str, Any] = {
    "algo": "ppo",
    "env_steps": 61_440,
    "n_envs": 8,
    "n_steps": 32,
    "batch_size": 64,
    "n_epochs": 4,
    "learning_rate": "linear(3e-3, 0)",
    "ent_coef": 0.01,
    "normalize_advantage": "off",  # it would make much of nothing, and drift
    "net_arch": [64],
}
BIT_FLIP: dict[str, Any] = {
    "algo": "dqn",
    "env_kwargs": {"bits": 10},
    "env_steps": 5000,
    "n_envs": 4,
    "gradient_steps": 8,
    "learning_rate": 1e-3,
    "batch_size": 128,
    "net_arch": [128],
    "target_update_interval": 200,
    "learning_starts": 500,
    "buffer_size": 20_000,
    "gamma": 0.98,
    "epsilon": "linear(0.5, 0.05, until=0.5)",
}


def evaluated(env: str, metric: str, **settings: Any) -> float:
    with tempfile.TemporaryDirectory() as runs:
        run = dressage.train(f"dressage.envs.{env}", runs=runs, seed=0, **COMMON, **settings)
        return float(run.metrics()[f"val/roll/{metric}"][-1])


@pytest.mark.parametrize(("bonus", "coef"), [("rnd", 0.3), ("icm", 0.1), ("counts", 0.3)])
def test_a_bonus_leads_to_the_end_of_the_corridor(bonus: str, coef: float) -> None:
    found = evaluated("toys:Corridor", "ep_rew_mean", bonus=bonus, bonus_coef=coef, **CORRIDOR)
    assert found >= 35  # of 41


def test_chance_does_not() -> None:
    assert evaluated("toys:Corridor", "ep_rew_mean", **CORRIDOR) == 0


# `episode` learns slower, since half of its goals lie behind the step
@pytest.mark.parametrize(("her", "least"), [("future", 0.9), ("final", 0.9), ("episode", 0.6)])
def test_hindsight_meets_goals(her: str, least: float) -> None:
    assert evaluated("goals:BitFlip", "success_rate", her=her, **BIT_FLIP) >= least


def test_without_hindsight_few_goals_are_met() -> None:
    assert evaluated("goals:BitFlip", "success_rate", **BIT_FLIP) <= 0.3
