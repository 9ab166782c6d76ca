"""Advice on the batch size: the rule of the rate, the model, and a real run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.errors import ConfigError, RunError
from dressage.math.noise_scale import NoiseScale
from dressage.prove.batch import (
    BatchAdvice,
    Point,
    batches,
    candidate,
    over_training,
    patch_for,
    scaled_rate,
)
from dressage.prove.batch_report import batch_report
from dressage.runs.view import RunView, Series
from dressage.sensing import speed_of


def point(value: float, low: float = 1.0, steps: int = 0) -> Point:
    return Point(steps, "policy", NoiseScale(value, low, math.inf, 1.0, 1.0, 9, 64))


def advice(noise: float, own: int, speeds: dict[int, float], replays: bool = False) -> BatchAdvice:
    points = [point(noise, steps=1000 * i) for i in range(3)]
    scale = over_training(points)
    made = [
        candidate(one, {"batch_size": one}, [speed] * 3, own, speeds[own], scale, replays)
        for one, speed in speeds.items()
    ]
    return BatchAdvice("CartPole-v1", "ppo", own, "adam", replays, points, scale, made)


def test_the_rate_goes_with_the_root_of_the_batch_or_with_the_batch() -> None:
    assert scaled_rate(1e-3, 64, 256, "adam") == pytest.approx(2e-3)
    assert scaled_rate(1e-3, 64, 16, "rmsprop") == pytest.approx(5e-4)
    assert scaled_rate(1e-3, 64, 256, "sgd") == pytest.approx(4e-3)


def test_a_schedule_keeps_its_shape_and_the_own_batch_changes_nothing() -> None:
    settings = {"batch_size": 64, "learning_rate": "linear(0.001, 0)", "optimizer": "adam"}
    assert patch_for(64, settings) == {}
    assert patch_for(256, settings) == {"batch_size": 256, "learning_rate": "linear(0.002, 0)"}


def test_candidates_divide_the_rollout() -> None:
    assert batches(64, 256) == [16, 32, 64, 128, 256]
    assert batches(96, 96 * 2) == [24, 48, 96, 192]
    assert batches(16, None) == [8, 16, 32, 64]


def test_env_steps_follow_rows_of_a_rollout_and_updates_of_a_memory() -> None:
    # Noise 100: a rollout's batch of 100 costs 1 + 1 = 2, one of 300 costs 4
    rollout = candidate(300, {}, [10.0], 100, 10.0, (100.0, 100.0, 100.0), replays=False)
    assert rollout.steps[0] == pytest.approx(2.0)
    # From a memory 1 + 1 = 2 and 1 + 1/3
    memory = candidate(300, {}, [5.0], 100, 10.0, (100.0, 100.0, 100.0), replays=True)
    assert memory.steps[0] == pytest.approx((4 / 3) / 2)
    assert memory.time[0] == pytest.approx(2 * (4 / 3) / 2)  # at half the pace


def test_a_smaller_batch_is_advised_where_the_noise_is_low_and_it_is_no_slower() -> None:
    made = advice(20.0, 256, {32: 1000.0, 64: 1000.0, 256: 1000.0})
    assert made.suggested is not None and made.suggested.batch == 32
    assert "try batch_size=32" in made.says


def test_where_nothing_is_sure_to_be_faster_the_batch_stays() -> None:
    slow = advice(20.0, 256, {32: 100.0, 256: 1000.0})
    assert slow.suggested is None and "keep batch_size=256" in slow.says
    assert advice(1e6, 64, {32: 1000.0, 64: 1000.0, 128: 1050.0}).suggested is None


def test_a_larger_batch_is_advised_where_it_is_faster_and_costs_nothing() -> None:
    made = advice(1e5, 64, {64: 1000.0, 256: 2000.0})
    assert made.suggested is not None and made.suggested.batch == 256


def test_noise_that_drowns_the_signal_counts_by_its_bound() -> None:
    assert over_training([point(100.0), point(math.inf, low=10_000.0)]) == pytest.approx(
        (1000.0, 100.0, 10_000.0)
    )


def test_the_report_ends_in_a_command_that_proves_it() -> None:
    report = batch_report(advice(20.0, 256, {64: 1000.0, 256: 1000.0}), "my-run")
    assert 'dressage verify my-run --patch "batch_size=64"' in report.text
    assert "square root" in report.text and "Malladi" in report.markdown
    assert json.loads(json.dumps(report.to_json(), default=str))["suggested"] == {"batch_size": 64}


CHEAP: dict[str, Any] = {"env_steps": 2048, "eval_every": 0, "final_eval_episodes": 0}


def test_a_real_run_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("dressage.sensing.CHECKPOINTS", 2)
    monkeypatch.setattr("dressage.sensing.NOISE_SECONDS", 0.5)
    monkeypatch.setattr("dressage.sensing.ROUNDS", 1)
    run = dressage.train("CartPole-v1", batch_size=64, runs=tmp_path, **CHEAP)
    said: list[str] = []
    made = dressage.batch_advice(run, runs=tmp_path, say=said.append).advice
    assert made.points[0].env_steps == 0 and len(made.points) >= 2, said
    assert all(one.part == "policy" for one in made.points)
    assert [one.batch for one in made.candidates] == [16, 32, 64, 128, 256]
    assert all(one.speed > 100 for one in made.candidates)
    rates = {one.batch: one.patch.get("learning_rate") for one in made.candidates}
    assert rates[256] == "linear(0.002, 0)" and rates[64] is None
    (folder,) = tmp_path.glob("batch-*")
    assert {one.name for one in folder.iterdir()} == {
        "noise", "report.json", "report.md", "report.html", "report-curve.svg",
    }  # fmt: skip


def test_an_algorithm_without_batches_is_told_so(tmp_path: Path) -> None:
    run = dressage.train("CartPole-v1:a2c", runs=tmp_path, **CHEAP | {"env_steps": 512})
    with pytest.raises(ConfigError, match="a2c has no batch_size"):
        dressage.batch_advice(run, runs=tmp_path)


def test_speed_is_taken_between_rows() -> None:
    wall = Series(np.array([100.0, 600.0]), np.array([9.0, 11.0]))
    assert speed_of(RunView(Path("x"), "x", "dressage", series={"wall_seconds": wall})) == 250.0
    with pytest.raises(RunError, match="too short to be timed"):
        speed_of(RunView(Path("x"), "x", "dressage"))
