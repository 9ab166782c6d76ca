"""Evaluations end, whatever the policy does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import dressage
from dressage.core import evaluate as evaluation
from dressage.core.collector import Acted
from dressage.core.evaluate import evaluate, longest_episode
from dressage.core.rng import Rng
from dressage.envs.batch import InlineBatch
from dressage.runs.run import Run


class Endless(gym.Env):  # type: ignore[misc]
    """Action 1 ends it, action 0 never does; each step costs 1. No time limit."""

    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.full(1, self.np_random.random(), np.float32), {}

    def step(self, action: int) -> Any:
        return np.zeros(1, np.float32), -1.0, action == 1, False, {}


class Never(Endless):
    def step(self, action: int) -> Any:
        return super().step(0)


def leaves_when_late(obs: Any, carry: Any, mask: Any) -> Acted:
    """Half of the first observations end the episode at once, the rest never."""
    return Acted((obs > 0.5).astype(np.float32), None, {})


def test_an_episode_without_an_end_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LONGEST_EPISODE", 50)
    with InlineBatch([Endless() for _ in range(4)]) as batch:
        found = evaluate(leaves_when_late, batch, 20, Rng(0), 0)
    first = np.array([seed_obs(Rng(0).episode_seed(i, 0, "evaluate")) for i in range(20)])
    assert 0 < (first > 0.5).sum() < 20
    assert np.array_equal(found.lengths, np.where(first > 0.5, 1, 50))
    assert np.array_equal(found.returns, -found.lengths.astype(float))
    assert np.array_equal(found.cut_short, first <= 0.5)
    assert f"{int((first <= 0.5).sum())} of 20 episodes" in found.warning()


def seed_obs(seed: int) -> float:
    env = Endless()
    return float(env.reset(seed=seed)[0][0])


def test_a_time_limit_of_the_environments_own_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evaluation, "LONGEST_EPISODE", 50)
    with InlineBatch([gym.wrappers.TimeLimit(Endless(), 80)]) as batch:
        assert longest_episode(batch) == 80
        found = evaluate(
            lambda *_: Acted(np.zeros((1, 1), np.float32), None, {}), batch, 2, Rng(0), 0
        )
    assert found.lengths.tolist() == [80, 80] and not found.cut_short.any() and not found.warning()


def test_a_run_says_so_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(evaluation, "LONGEST_EPISODE", 50)
    run = dressage.train(
        Never, algo="ppo", runs=tmp_path, env_steps=64, n_envs=1, n_steps=16, batch_size=16,
        n_epochs=1, lr=0.0, eval_every=16, eval_episodes=4, final_eval_episodes=4, seed=0,
    )  # fmt: skip
    assert isinstance(run, Run)
    events = run.events("endless_episode")
    lengths = run.metrics("val/roll/ep_len_mean")["val/roll/ep_len_mean"]
    assert (lengths == 50).sum() == 4
    assert len(events) == 1 and "time limit" in events[0]["reason"]
