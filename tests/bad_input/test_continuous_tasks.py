"""Tasks that algorithms of continuous actions cannot take: a sentence before anything is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import dressage
from dressage.errors import DressageError

FAMILY = ("sac", "td3", "ddpg", "tqc", "crossq", "recurrent_sac", "recurrent_td3")


class Task(gym.Env):
    """One step after another; the third reward may be NaN."""

    def __init__(self, high: float = 1.0, last: Any = 0.0, discrete: bool = False) -> None:
        self.observation_space = spaces.Box(-1, 1, (2,), np.float32)
        box = spaces.Box(-high, high, (1,), np.float32)
        self.action_space = spaces.Discrete(2) if discrete else box
        self.last = last

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return np.zeros(2, np.float32), self.last if self.t == 3 else 0.0, False, self.t > 9, {}


def refused(algo: str, folder: Path, env: dict[str, Any] | None = None, **settings: Any) -> str:
    with pytest.raises(DressageError) as error:
        dressage.train(
            lambda: Task(**(env or {})), algo=algo, runs=folder, env_steps=40, **settings
        )
    return str(error.value)


@pytest.mark.parametrize("algo", FAMILY)
def test_actions_without_bounds(algo: str, tmp_path: Path) -> None:
    assert "bounded actions" in refused(algo, tmp_path, {"high": np.inf})


@pytest.mark.parametrize("algo", FAMILY)
def test_actions_in_other_units(algo: str, tmp_path: Path) -> None:
    assert "scale_actions=true" in refused(algo, tmp_path, {"high": 3.0}, scale_actions=False)


@pytest.mark.parametrize("algo", ["td3", "sac"])
def test_choices(algo: str, tmp_path: Path) -> None:
    assert "discrete" in refused(algo, tmp_path, {"discrete": True}).lower()


def test_numbers_for_a_policy_of_choices(tmp_path: Path) -> None:
    assert "continuous" in refused("sac_discrete", tmp_path)


@pytest.mark.parametrize("algo", ["td3", "recurrent_sac"])
def test_rewards_that_are_not_numbers(algo: str, tmp_path: Path) -> None:
    assert "reward" in refused(algo, tmp_path, {"last": np.nan}).lower()


def test_rewards_of_another_shape(tmp_path: Path) -> None:
    found = refused("sac", tmp_path, {"last": np.zeros(2)})
    assert found == (
        "environment 0: reward has shape (2,), expected one number: return float(reward) from "
        "step(), with one agent's reward in it."
    )
    assert "reward is 'much', expected" in refused("sac", tmp_path, {"last": "much"})


@pytest.mark.parametrize("algo", ["td3", "sac"])
def test_other_bounds_are_scaled(algo: str, tmp_path: Path) -> None:
    run = dressage.train(
        lambda: Task(high=3.0), algo=algo, runs=tmp_path, env_steps=40, batch_size=8, engine="torch"
    )
    assert run.status == "finished"  # type: ignore[union-attr]
