"""An episode without an end is named, once, before its actions fill the memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import dressage
from dressage.core import long_episodes
from dressage.envs.restore import TraceRecorder

TINY: dict[str, Any] = {
    "n_envs": 2,
    "n_steps": 32,
    "batch_size": 32,
    "n_epochs": 1,
    "net_arch": [8],
    "backend": "inline",
    "eval_every": 0,
    "final_eval_episodes": 0,
}


class Endless(gymnasium.Env[Any, Any]):
    """Never ends."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2, np.float32), float(action), False, False, {}


def test_a_run_says_once_what_an_endless_episode_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_episodes, "MUCH", 1000)  # bytes: 250 env steps of one number
    run = dressage.train(Endless, **TINY, env_steps=512, runs=tmp_path)
    (event,) = run.events("long_episode")
    assert event["env_steps"] == 256
    assert "environment 0 goes on after 128 env steps" in event["reason"]
    assert "wrappers=time_limit:1000" in event["reason"]
    assert (run.path / "run.log").read_text().count(event["reason"]) == 1
    run = dressage.train(Endless, resume=run, env_steps=1024, runs=tmp_path, trust=True)
    assert run.events("long_episode") == [event]
    assert (run.path / "run.log").read_text().count(event["reason"]) == 1


def test_a_run_with_a_time_limit_has_nothing_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_episodes, "MUCH", 1000)
    run = dressage.train(Endless, **TINY, env_steps=1024, wrappers=["time_limit:20"], runs=tmp_path)
    assert run.metrics()["episodes"][-1] > 40
    assert run.events("long_episode") == []


def test_a_trace_is_as_large_as_its_oldest_unfinished_episode() -> None:
    trace = TraceRecorder(2, 3)
    for i in range(2):
        trace.reset(i, seed=i)
    for _ in range(3000):  # over the first allocation
        trace.step(np.zeros((2, 3), np.float32))
    assert trace.kept_bytes == 3000 * 2 * 3 * 4
    trace.reset(0, seed=5)
    assert trace.kept_bytes == 3000 * 2 * 3 * 4  # the other one still goes on
    trace.reset(1, seed=6)
    assert trace.kept_bytes == 0
