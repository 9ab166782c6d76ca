"""Verdicts over planned looks: with made-up seeds, and once with real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.diagnosis import record
from dressage.diagnosis.record import Verified, expected_effect
from dressage.errors import ConfigError, RunError
from dressage.prove.looks import PLANNED
from dressage.prove.verify import FIRST_SEED, verify
from dressage.runs.view import RunView, Series

STEPS = np.linspace(500, 50_000, 100)


class Seeds:
    """Trains nothing: returns rise at a pace of their side, and notes what was asked for."""

    def __init__(self, pace: dict[str, float], noise: float = 0.1) -> None:
        self.pace, self.noise, self.asked = pace, noise, []

    def __call__(self, side: str, seeds: range) -> list[RunView]:
        self.asked.append((side, seeds))
        return [self.one(side, seed) for seed in seeds]

    def one(self, side: str, seed: int) -> RunView:
        generator = np.random.default_rng([seed, side == "patched"])
        pace = self.pace[side] * np.exp(self.noise * generator.normal())
        returns = 500 * (1 - np.exp(-pace * STEPS / 10_000)) + generator.normal(size=100)
        return RunView(
            Path("x"), "x", "dressage", "ppo", "CartPole-v1", {"seed": seed},
            series={"train/roll/ep_rew_mean": Series(STEPS, returns)},
            threshold=400.0, env_steps=50_000.0,
        )  # fmt: skip


def test_a_clear_change_is_proven_at_the_first_look() -> None:
    seeds = Seeds({"baseline": 1.0, "patched": 2.0})
    found = verify({"lr": 1}, seeds)
    assert found.verdict == "proven" and found.last.seeds == PLANNED[0]
    assert found.steps_ratio[2] < 0.7 and found.env_steps == 16 * 50_000
    assert seeds.asked == [
        (side, range(FIRST_SEED, FIRST_SEED + 8)) for side in ("baseline", "patched")
    ]


def test_a_change_for_the_worse_is_told_so() -> None:
    assert verify({"lr": 1}, Seeds({"baseline": 2.0, "patched": 1.0})).verdict == "worse"


@pytest.mark.parametrize("goal", ["frames", "return"])
def test_no_change_is_not_proven_and_uses_every_look(goal: Any) -> None:
    seeds = Seeds({"baseline": 1.0, "patched": 1.0})
    found = verify({"lr": 1}, seeds, goal=goal)
    assert found.verdict == "not proven"
    assert [look.seeds for look in found.looks] == list(PLANNED)
    trained = [seed for side, part in seeds.asked if side == "patched" for seed in part]
    assert trained == list(range(FIRST_SEED, FIRST_SEED + PLANNED[-1]))  # each once


def test_looks_that_are_left_out_may_be_taken_later() -> None:
    paces = {"baseline": 1.0, "patched": 1.12}
    short = verify({"lr": 1}, Seeds(paces), most=8)
    whole = verify({"lr": 1}, Seeds(paces))
    assert short.verdict == "not proven" and [look.seeds for look in short.looks] == [8]
    assert whole.looks[0] == short.looks[0]  # at the same level: nothing was spent twice
    assert whole.verdict == "proven" and whole.last.seeds > 8
    with pytest.raises(ConfigError, match="8, 12, 16 or 24"):
        verify({"lr": 1}, Seeds(paces), most=10)


def test_false_verdicts_are_rare_over_many_comparisons_of_like_with_like() -> None:
    wrong = 0
    for repeat in range(60):
        found = verify(
            {"lr": 1}, Seeds({"baseline": 1.0, "patched": 1.0}, 0.3), goal="return",
            first_seed=1000 * repeat,
        )  # fmt: skip
        wrong += found.verdict != "not proven"
    assert wrong <= 7  # 3 are expected at most; 8 and more have a chance of 1 %


def test_a_seed_without_a_return_is_an_error() -> None:
    def train(side: str, seeds: range) -> list[RunView]:
        return [RunView(Path("x"), "x", "dressage") for _ in seeds]

    with pytest.raises(RunError, match="without a return"):
        verify({"lr": 1}, train)


def test_nothing_is_no_patch() -> None:
    with pytest.raises(ConfigError, match="nothing to verify"):
        verify({}, Seeds({"baseline": 1.0, "patched": 1.0}))


# -- the record ----------------------------------------------------------------------------------


def entry(**changes: Any) -> Verified:
    given: dict[str, Any] = {
        "env": "CartPole-v1", "algo": "ppo", "library": "dressage", "patch": {"lr": 1e-3},
        "cause": "lr-too-high", "verdict": "proven", "goal": "frames", "seeds": 8, "p": 0.001,
        "final": (1.0, 0.5, 1.5), "steps_ratio": (0.5, 0.4, 0.6), "env_steps": 1e6, "seconds": 9.0,
        "returns": (50.0, 60.0),
    }  # fmt: skip
    return Verified(**given | changes)


def test_the_record_keeps_every_verdict_and_survives_a_cut(tmp_path: Path) -> None:
    first, second = entry(), entry(algo="dqn")
    record.add(tmp_path, first)
    record.add(tmp_path, second)
    assert record.read(tmp_path / record.FILE) == [first, second]
    with (tmp_path / record.FILE).open("a") as file:
        file.write('{"env": "Acro')
    assert record.read(tmp_path / record.FILE, tmp_path / "absent") == [first, second]


def test_effects_of_similar_settings_count_most() -> None:
    entries = [entry(steps_ratio=(0.5, 0, 1)), entry(algo="dqn", env="X", steps_ratio=(0.9, 0, 1))]
    found = expected_effect(entries, "lr-too-high", "ppo", "CartPole-v1")
    assert found is not None and found.n == 2
    # weights 1 and 0.3 * 0.5
    assert found.steps_ratio == pytest.approx((0.5 + 0.15 * 0.9) / 1.15)
    assert (
        "0.55 times the env steps (measured, 0.50 to 0.90; proven in 2 of 2 verdicts)" in found.says
    )
    assert expected_effect(entries, "gamma-too-low", "ppo", None) is None


# -- with real runs ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("runs")
    return dressage.train("CartPole-v1", env_steps=6144, lr=1e-6, runs=root, eval_every=0)


def test_a_rate_that_is_too_low_is_mended_and_the_verdict_is_kept(run: Any) -> None:
    root, said = run.path.parent, []
    found = dressage.verify(run, {"lr": 1e-3}, goal="return", runs=root, say=said.append)
    assert found.verdict == "proven" and found.patch == {"learning_rate": 0.001}
    assert json.loads(json.dumps(found.to_json()))["verdict"] == "proven"
    (kept,) = record.read(root / record.FILE)
    assert kept.verdict == "proven" and kept.algo == "ppo" and kept.seeds == found.last.seeds
    folders = {path: path.stat().st_mtime_ns for path in root.glob("verify-*/*/*")}
    again = dressage.verify(run, {"lr": 1e-3}, goal="return", runs=root)
    assert again.last.p == found.last.p
    assert {path: path.stat().st_mtime_ns for path in root.glob("verify-*/*/*")} == folders


@pytest.mark.parametrize(
    ("patch", "why"),
    [({"seed": 3}, "no part of a patch"), ({"lr": 1e-6}, "changes nothing"), ({"lrr": 1}, "lrr")],
)
def test_what_is_no_patch_gets_a_sentence(run: Any, patch: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        dressage.verify(run, patch, runs=run.path.parent)
