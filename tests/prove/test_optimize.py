"""Optimizing settings: with made-up seeds, and once with real ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import dressage
from dressage.diagnosis import record
from dressage.diagnosis.diagnose import RankedCause
from dressage.errors import RunError
from dressage.prove.optimize import Diagnosed, candidates, optimize
from dressage.runs.view import RunView, Series
from dressage.ui.cli.main import main

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

    def ask(self, views: Sequence[RunView]) -> Diagnosed:
        config = views[0].config
        given = [(f"{n}-cause", {n: "good"}) for n in ("lr", "gamma") if config[n] == "bad"]
        if not given:
            return Diagnosed("healthy", [], [])
        causes = [RankedCause(cause, 0.5, ["It is slow."], []) for cause, _ in given]
        return Diagnosed("faulty", causes, candidates([*given, ("wrong", {"epochs": "worse"})]))


def test_what_helps_is_proven_and_what_does_not_is_left_out() -> None:
    world = World()
    found = optimize(START, world.train, world.ask, seconds=600)
    assert found.patch == {"lr": "good", "gamma": "good"}
    assert found.ended.startswith("no bottleneck is left")
    assert "epochs" not in found.patch and found.proven
    *mending, last = found.rounds
    assert mending and all(one.verification.verdict == "proven" for one in mending)
    assert last.diagnosed.verdict == "healthy" and not last.trials
    assert found.runs == sum(len(seeds) for _, seeds in world.trained)
    assert found.env_steps == 50_000 * found.runs


def test_confirming_seeds_were_never_used_before() -> None:
    world = World()
    optimize(START, world.train, world.ask, seconds=600)
    tried = {seed for _, seeds in world.trained for seed in seeds if seed < 10_000}
    confirming = {seed for _, seeds in world.trained for seed in seeds if seed >= 10_000}
    assert tried and confirming and not tried & confirming


def test_another_goal_is_confirmed_on_seeds_of_its_own() -> None:
    seeds = []
    for goal in ("frames", "return"):
        world = World()
        optimize(START, world.train, world.ask, seconds=600, goal=goal)
        seeds.append({seed for _, used in world.trained for seed in used if seed >= 10_000})
    assert seeds[0] and seeds[1] and not seeds[0] & seeds[1]


def test_a_candidate_that_cannot_be_trained_is_left_out() -> None:
    class Breaking(World):
        def train(self, settings: Mapping[str, Any], seeds: range) -> list[RunView]:
            if settings["epochs"] == "worse":
                raise RunError("It crashed.")
            return super().train(settings, seeds)

    world, said = Breaking(), []
    found = optimize(START, world.train, world.ask, seconds=600, say=said.append)
    assert found.patch == {"lr": "good", "gamma": "good"}
    assert all("epochs" in one.patch for one in found.rounds[0].failed) and found.rounds[0].failed
    assert any("could not be trained: It crashed." in line for line in said)


class Timed(World):
    """Runs with `dear` settings take this many seconds, others none to speak of."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def one(self, settings: dict[str, Any], seed: int) -> RunView:
        view = super().one(settings, seed)
        seconds = self.seconds if settings["gamma"] == "good" else 0.01
        view.series["wall_seconds"] = Series(STEPS[-1:], np.array([seconds]))
        return view


def test_a_candidate_whose_proof_would_take_too_long_gives_way_to_a_cheaper_one() -> None:
    said: list[str] = []
    world = Timed(1000.0)
    found = optimize(START, world.train, world.ask, seconds=600, say=said.append)
    assert found.patch == {"lr": "good"}
    assert all({"gamma": "good"} in [one.patch for one in now.dear] for now in found.rounds)
    assert any("a proof would take longer" in line for line in said)
    cheap = Timed(1.0)
    assert optimize(START, cheap.train, cheap.ask, seconds=600).patch["gamma"] == "good"


def test_where_nothing_helps_nothing_is_claimed() -> None:
    world = World()

    def ask(views: Sequence[RunView]) -> Diagnosed:
        return Diagnosed("faulty", [], candidates([("wrong", {"epochs": "worse"})]))

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
    assert found.interrupted and found.ended.startswith("interrupted") and found.patch


def test_a_race_and_a_proof_that_are_cut_short_keep_what_was_seen() -> None:
    whole = World()
    optimize(START, whole.train, whole.ask, seconds=600)
    proof = next(i for i, (_, seeds) in enumerate(whole.trained) if seeds[0] >= 10_000)
    world = World(limit=proof)
    (cut,) = optimize(START, world.train, world.ask, seconds=600).rounds
    assert cut.winner is not None and cut.verification is None and not cut.confirming
    world = World(limit=proof + 2)
    found = optimize(START, world.train, world.ask, seconds=600)
    assert found.rounds[0].confirming == [*range(10_000, 10_008)] and found.best is not None
    world = World(limit=proof - 1)
    (cut,) = optimize(START, world.train, world.ask, seconds=600).rounds
    assert cut.winner is None and {trial.seeds for trial in cut.trials} == {2, 4}
    assert cut.diagnosed.verdict == "faulty"


def test_what_is_proven_is_told_though_a_later_round_was_not() -> None:
    world = World()

    def ask(views: Sequence[RunView]) -> Diagnosed:
        if views[0].config["lr"] == "bad":
            return Diagnosed("faulty", [], candidates([("slow", {"lr": "good"})]))
        return Diagnosed("faulty", [], candidates([("none", {"name": "other"})]))

    found = optimize(START, world.train, ask, seconds=600)
    assert found.patch == {"lr": "good"} and len(found.rounds) == 2
    assert found.says.startswith("Proven: lr=good (proven over")


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


# -- real seeds -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any, list[str]]:
    root, said = tmp_path_factory.mktemp("runs"), list[str]()
    run = dressage.train("CartPole-v1", env_steps=8192, lr=1e-7, runs=root, eval_every=0)
    report = dressage.optimize(run, minutes=3, goal="return", runs=root, say=said.append)
    return root, run, report, said


def test_a_run_with_a_rate_that_is_too_low_is_mended(
    real: tuple[Path, Any, Any, list[str]],
) -> None:
    root, _, report, said = real
    found = report.optimization
    assert found.proven and "learning_rate" in found.patch, said
    settings = yaml.safe_load(report.config.read_text())
    assert settings["learning_rate"] == found.patch["learning_rate"]
    assert settings["env"] == "CartPole-v1" and "seed" not in settings
    kept = record.read(root / record.FILE)
    # what is tried after it, in another round, may turn out otherwise
    assert kept[0].verdict == "proven" and kept[0].cause
    for name in ("report.md", "report.html", "report.json", "report-curve.svg"):
        assert (report.config.parent / name).stat().st_size > 500
    told = json.loads((report.config.parent / "report.json").read_text())
    assert told["patch"] == found.patch and told["command"] in report.markdown
    assert told["changes"]["learning_rate"] == [1e-7, found.patch["learning_rate"]]


def test_the_command_ends_in_files_in_json_and_in_what_to_type(
    real: tuple[Path, Any, Any, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, run, report, _ = real
    page, text = tmp_path / "page.html", tmp_path / "text.md"
    words = ["optimize", run.path, "--minutes", 3, "--goal", "return", "--runs", root, "--json"]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in (*words, "--html", page, "--markdown", text)])
    assert not ended.value.code
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1])["patch"] == report.optimization.patch
    assert f"written: {page}" in said.err and f"written: {text}" in said.err
    assert f"run it: dressage train --config {report.config}" in said.err
    assert "Proven:" in text.read_text() and "Proven:" in page.read_text()
    kept = record.read(root / record.FILE)
    assert len(kept) == len({str((entry.cause, entry.patch)) for entry in kept})  # said once


def test_a_command_that_is_interrupted_still_writes_its_report(
    real: tuple[Path, Any, Any, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stopped(*args: Any, **given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dressage.api.train", stopped)
    words = ["optimize", real[1].path, "--runs", tmp_path]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == 130
    said = capsys.readouterr()
    (made,) = tmp_path.glob("optimize-*/report.md")
    assert f"written: {made}" in said.out + said.err
    assert "interrupted; the same command goes on" in made.read_text()
    assert (made.parent / "report.html").is_file() and (made.parent / "report.json").is_file()
