"""The Recorder: how values become a row, what a checkpoint keeps, when rows reach the files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.core import recorder as recording
from dressage.core.collector import Episode
from dressage.core.recorder import Recorder
from dressage.runs.run import Run
from dressage.runs.writer import RunWriter

CONFIG = {"env": "CartPole-v1", "algo": "ppo", "seed": 0}


def begin(path: Path) -> RunWriter:
    return RunWriter(path, config=CONFIG, spec={"env": "CartPole-v1"}, system={"python": "3"})


def lead(env_steps: int) -> dict[str, float]:
    return {"env_steps": env_steps, "updates": env_steps, "wall_seconds": 0.5}


def episode(number: int) -> Episode:
    return Episode(10 * number, 3.7 * number, 5 + number, number % 2 == 0, math.nan, 0)


ADDED: list[dict[str, Any]] = [
    {"train/loss/policy": 0.1, "train/metrics/ratio_max": 1.5, "train/cnt/iterations": 1},
    {"train/loss/policy": 0.2, "train/metrics/ratio_max": 1.2, "own/count": 3},
    {"train/loss/policy": 0.4, "train/metrics/skipped_updates": 2.0, "train/cnt/iterations": 2},
    {"own/count": np.int64(4), "train/metrics/skipped_updates": 1.0},
]
MERGED = {
    "train/loss/policy": (0.1 + 0.2 + 0.4) / 3,  # mean
    "train/metrics/ratio_max": 1.5,  # max
    "train/cnt/iterations": 2,  # last
    "train/metrics/skipped_updates": 3.0,  # sum
    "own/count": 3.5,  # a name of one's own: mean
}


def test_values_are_merged_as_the_dictionary_says(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as writer:
        recorder = Recorder(writer, 1)
        for metrics in ADDED:
            recorder.add(metrics)
        row = recorder.write_row(lead(10))
        assert {name: row[name] for name in MERGED} == MERGED
        recorder.add({"own/count": 7})
        row = recorder.write_row(lead(20))
        assert "train/loss/policy" not in row, "an interval begins with nothing"
    text = (tmp_path / "run/metrics.csv").read_text().splitlines()
    at = text[0].split(",").index("own/count")
    assert [line.split(",")[at] for line in text[1:]] == ["3.5", "7.0"], "a mean is a real number"


@pytest.mark.parametrize("saved_after", range(len(ADDED) + 1))
def test_an_interval_goes_on_after_a_resume(tmp_path: Path, saved_after: int) -> None:
    """Saved anywhere within an interval and as JSON: the same row, bit for bit."""
    with begin(tmp_path / "run") as writer:
        recorder = Recorder(writer, 1)
        for number, metrics in enumerate(ADDED):
            if number == saved_after:
                state = json.loads(json.dumps(recorder.state(), default=float))
                recorder = Recorder(writer, 1)
                recorder.load(state)
            recorder.add(metrics)
            recorder.add_episodes([episode(number), episode(number + 1)])
        row = recorder.write_row(lead(10))
        assert {name: row[name] for name in MERGED} == MERGED
        assert row["train/roll/episodes"] == row["episodes"] == 2 * len(ADDED)


def test_statistics_are_of_the_last_hundred_episodes(tmp_path: Path) -> None:
    played = [episode(number) for number in range(250)]
    best = -math.inf
    with begin(tmp_path / "run") as writer:
        recorder = Recorder(writer, 1)
        assert "train/roll/ep_rew_mean" not in recorder.write_row(lead(1))
        for first, last in ((0, 3), (3, 3), (3, 120), (120, 120), (120, 250)):
            recorder.add_episodes(played[first:last])
            row = recorder.write_row(lead(1 + last))
            window = played[max(0, last - 100) : last]
            returns = np.array([e.episode_return for e in window])
            best = max(best, row["train/roll/ep_rew_mean"])
            assert row["train/roll/ep_rew_mean"] == pytest.approx(returns.mean(), rel=1e-14)
            assert row["train/roll/ep_rew_std"] == pytest.approx(returns.std(), rel=1e-12)
            assert row["train/roll/ep_len_mean"] == np.mean([e.length for e in window])
            assert row["train/roll/ep_rew_best"] == best
            assert row["train/roll/episodes"] == last - first
            assert ("train/roll/truncated_share" in row) == (last > first)


def test_rows_that_come_fast_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(recording.time, "perf_counter", lambda: now)
    with begin(tmp_path / "run") as writer:
        recorder = Recorder(writer, 1)
        seen = []
        for number in range(1, 200):
            now += 0.01
            recorder.write_row(lead(number))
            seen.append(len(Run(tmp_path / "run").metrics()["env_steps"]))
        assert seen[0] == 1, "nobody waits for the first row"
        waiting = [number - rows for number, rows in enumerate(seen, start=1)]
        assert 40 < max(waiting) <= recording.FLUSH_SECONDS / 0.01
        for number in range(200, 205):
            now += 0.2
            recorder.write_row(lead(number))
            assert len(Run(tmp_path / "run").metrics()["env_steps"]) == number, "not fast"


def test_phases_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(recording.time, "perf_counter", lambda: now)
    with begin(tmp_path / "run") as writer:
        recorder = Recorder(writer, 1)
        for seconds in (1.0, 2.5):
            with recorder.timed("update"):
                now += seconds
        with recorder.timed("record"):
            row = recorder.write_row(lead(7))
            now += 0.25
        assert row["sys/time/update"] == 3.5
        assert row["sys/env_steps_per_second"] == 2.0
        later = recorder.write_row(lead(8))
        assert later["sys/time/record"] == 0.25, "the time of writing a row is in the next"
        assert later["sys/time/update"] == 0.0


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_how_busy_workers_are_is_recorded_where_there_are_any(backend: str, tmp_path: Path) -> None:
    run = dressage.train(
        "CartPole-v1", algo="ppo", preset=False, env_steps=512, n_envs=2, n_steps=64,
        backend=backend, eval_every=0, final_eval_episodes=1, runs=tmp_path,
    )  # fmt: skip
    found = run.metrics().get("sys/workers_busy")
    if backend == "inline":
        assert found is None
    else:
        assert found is not None and ((found > 0.0) & (found < 1.0)).all()
