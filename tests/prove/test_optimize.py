"""Optimizing settings: with made-up seeds, and once with real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import dressage
from dressage.diagnosis import record
from dressage.prove.optimize import Candidate, candidates, optimize
from dressage.runs.view import RunView, Series

STEPS = np.linspace(500, 50_000, 100)
START = {"lr": "bad", "gamma": "bad", "epochs": "good"}


class World:
    """Runs whose pace depends on how many settings are good; notes what was trained."""

    def __init__(self, limit: int | None = None) -> None:
        self.trained: list[tuple[dict[str, Any], range]] = []
        self.limit = limit  # calls after which a person presses Ctrl-C

    def train(self, settings: Mapping[str, Any], seeds: range) -> list[RunView]:
        self.trained.append((dict(settings), seeds))
        if self.limit is not None and len(self.trained) > self.limit:
            raise KeyboardInterrupt
        return [self.one(dict(settings), seed) for seed in seeds]

    def one(self, settings: dict[str, Any], seed: int) -> RunView:
        generator = np.random.default_rng([seed, len(str(settings))])
        pace = 0.3 + sum(value == "good" for value in settings.values())
        pace *= np.exp(0.05 * generator.normal())
        returns = 500 * (1 - np.exp(-pace * STEPS / 10_000)) + generator.normal(size=100)
        return RunView(
            Path("x"), "x", "dressage", "ppo", "CartPole-v1", settings | {"seed": seed},
            series={"train/roll/ep_rew_mean": Series(STEPS, returns)},
            threshold=400.0, env_steps=50_000.0,
        )  # fmt: skip

    def ask(self, views: Sequence[RunView]) -> list[Candidate]:
        config = views[0].config
        given = [(f"{n}-cause", {n: "good"}) for n in ("lr", "gamma") if config[n] == "bad"]
        return candidates([*given, ("wrong", {"epochs": "worse"})] if given else [])


def test_what_helps_is_proven_and_what_does_not_is_left_out() -> None:
    world = World()
    found = optimize(START, world.train, world.ask, seconds=600)
    assert found.patch == {"lr": "good", "gamma": "good"}
    assert found.ended.startswith("no bottleneck is left")
    assert "epochs" not in found.patch and found.proven
    assert all(r.verification and r.verification.verdict == "proven" for r in found.rounds)


def test_confirming_seeds_were_never_used_before() -> None:
    world = World()
    optimize(START, world.train, world.ask, seconds=600)
    tried = {seed for _, seeds in world.trained for seed in seeds if seed < 10_000}
    confirming = {seed for _, seeds in world.trained for seed in seeds if seed >= 10_000}
    assert tried and confirming and not tried & confirming


def test_where_nothing_helps_nothing_is_claimed() -> None:
    world = World()

    def ask(views: Sequence[RunView]) -> list[Candidate]:
        return candidates([("wrong", {"epochs": "worse"})])

    found = optimize(START, world.train, ask, seconds=600)
    assert not found.proven and "Nothing was proven" in found.says
    assert found.rounds[0].winner is None


def test_time_that_is_up_keeps_what_was_learned() -> None:
    world = World()
    found = optimize(START, world.train, world.ask, seconds=-1.0)
    assert found.ended.startswith("the time") and not found.rounds


def test_an_interruption_keeps_what_was_learned() -> None:
    whole = World()
    rounds = optimize(START, whole.train, whole.ask, seconds=600).rounds
    assert len(rounds) >= 1
    world = World(limit=len(whole.trained) - 1)
    found = optimize(START, world.train, world.ask, seconds=600)
    assert found.ended.startswith("interrupted") and found.patch


def test_candidates_are_each_alone_every_two_and_all_together() -> None:
    given = [("a", {"x": 1}), ("b", {"y": 2}), ("c", {"x": 1}), ("d", {}), ("e", {"x": 3})]
    found = candidates(given)
    assert [one.patch for one in found] == [
        {"x": 1},
        {"y": 2},
        {"x": 3},
        {"y": 2, "x": 1},
        {"x": 3, "y": 2},
    ]
    assert found[3].causes == ("a", "b")
    assert [one.patch for one in candidates([("a", {"x": 1})])] == [{"x": 1}]


def test_a_run_with_a_rate_that_is_too_low_is_mended(tmp_path: Path) -> None:
    run = dressage.train("CartPole-v1", env_steps=8192, lr=1e-7, runs=tmp_path, eval_every=0)
    said: list[str] = []
    found, path = dressage.optimize(run, minutes=3, goal="return", runs=tmp_path, say=said.append)
    assert found.proven and "learning_rate" in found.patch, said
    settings = yaml.safe_load(path.read_text())
    assert settings["learning_rate"] == found.patch["learning_rate"]
    assert settings["env"] == "CartPole-v1" and "seed" not in settings
    kept = record.read(tmp_path / record.FILE)
    assert {entry.verdict for entry in kept} == {"proven"} and kept[0].cause
