"""Searching for settings: spaces that hold only valid trials, made-up objectives, real seeds."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import dressage
from dressage.core.hooks import MemberState
from dressage.diagnosis import record
from dressage.errors import ConfigError, DressageError
from dressage.presets.resolve import resolve
from dressage.prove.looks import PLANNED
from dressage.prove.search import Search, Tried
from dressage.prove.spaces import (
    SPACES,
    Choice,
    Knob,
    coordinates,
    near,
    patch_at,
    space_of,
    valid,
)
from dressage.prove.tune import Final, Look, Timer, Tuning, affordable, finalists, reserved, tune
from dressage.runs.view import RunView, Series
from dressage.tuning import Watch, _write_presets, start_of
from dressage.ui.cli.main import main

TASKS = {
    "ppo": "CartPole-v1", "a2c": "CartPole-v1", "dqn": "CartPole-v1", "rainbow": "CartPole-v1",
    "sac": "Pendulum-v1", "td3": "Pendulum-v1", "crossq": "Pendulum-v1", "q_learning": "Taxi-v3",
}  # fmt: skip


def drawn(space: Any, rng: np.random.Generator) -> dict[str, Any]:
    """A place of the space at random."""
    where: dict[str, Any] = {}
    for one in space:
        if isinstance(one, Choice):
            where[one.name] = one.texts[rng.integers(len(one.texts))]
            continue
        low, high = sorted((one.coordinate(one.low), one.coordinate(one.high)))
        at = low + (high - low) * rng.random()
        where[one.name] = round(at) if one.whole else at
    return where


# -- spaces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("algo", TASKS)
def test_every_draw_of_a_space_is_valid_and_none_is_refused(algo: str) -> None:
    env, _, start = start_of(TASKS[algo], algo, {})
    space, rng = space_of(algo, start), np.random.default_rng(0)
    assert space
    for _ in range(40):
        patch = valid(env, algo, start, patch_at(space, drawn(space, rng), start))
        resolve(env, algo, {**start, **patch}, use_preset=False)  # raises on nonsense


@pytest.mark.parametrize("fixed", [{"n_envs": 6}, {"recurrent": "lstm", "n_steps": 128}])
def test_batches_always_divide_the_rollout(fixed: dict[str, Any]) -> None:
    env, algo, start = start_of("CartPole-v1", "ppo", {"batch_size": 32, "n_steps": 64, **fixed})
    space, rng = space_of(algo, start), np.random.default_rng(1)
    refused = 0
    for _ in range(60):
        patch = patch_at(space, drawn(space, rng), start)
        try:
            resolve(env, algo, {**start, **patch}, use_preset=False)
        except ConfigError:
            refused += 1
        settings = {**start, **valid(env, algo, start, patch)}
        resolve(env, algo, settings, use_preset=False)
        assert settings["n_steps"] * settings["n_envs"] % settings["batch_size"] == 0
    assert refused, "nothing was refused, so nothing was mended"


def test_spaces_name_only_settings_that_their_algorithms_have() -> None:
    for algo, space in SPACES.items():
        env = TASKS.get(algo, "Pendulum-v1")
        known = resolve(env, algo, {}, use_preset=False).values()
        assert sum(one.setting in known for one in space) >= 1, algo


def test_the_start_and_what_is_prescribed_have_a_place() -> None:
    _, algo, start = start_of("CartPole-v1", "ppo", {"lr": 0.5, "n_epochs": 50})
    asked = [{"learning_rate": 1e-7}, {"normalize_obs": True}]
    space = space_of(algo, start, asked)
    by_name = {one.name: one for one in space}
    rate, normal = by_name["learning_rate"], by_name["normalize_obs"]
    assert isinstance(rate, Knob) and (rate.low, rate.high) == (1e-7, 0.5)
    assert isinstance(normal, Choice) and normal.options == (False, True)
    assert patch_at(space, coordinates(space, start), start) == {"ent_coef": 1e-08}  # from zero
    where = coordinates(space, start | asked[1])
    assert patch_at(space, where, start)["normalize_obs"] is True


def test_patches_near_the_start_move_a_few_numbers_a_little() -> None:
    env, algo, start = start_of("CartPole-v1", "ppo", {})
    space = space_of(algo, start)
    found = near(space, start, lambda patch: valid(env, algo, start, patch), 8)
    assert len(found) > 4
    for patch in found:
        assert 1 <= len(patch) <= 4  # three, and a batch that goes with the rollout
        for one in space:
            if isinstance(one, Knob) and one.scale == "two" and one.setting in patch:
                assert patch[one.setting] / start[one.setting] in (0.25, 0.5, 2.0, 4.0)


def test_what_a_person_fixed_is_not_searched() -> None:
    _, algo, start = start_of("CartPole-v1", "ppo", {"gamma": 0.9})
    assert "gamma" not in [one.setting for one in space_of(algo, start, fixed=["gamma"])]


def test_schedules_keep_their_shape() -> None:
    rate = Knob("learning_rate", "log", 1e-5, 1e-2)
    settings = {"learning_rate": "linear(0.001, 0.0001, warmup=0.1)", "epsilon": "linear(1, 0.05)"}
    assert rate.read(settings) == 0.001
    assert rate.write(0.002, settings) == "linear(0.002, 0.0002, warmup=0.1)"
    until = Knob("epsilon", "log", 0.02, 0.5, part="until")
    assert until.write(0.25, settings) == "linear(1, 0.05, until=0.25)"
    assert rate.read({"learning_rate": "auto"}) is None


def test_neighbours_are_half_and_twice_on_their_scale() -> None:
    assert Knob("x", "log", 0, 1).neighbours(1e-3) == (5e-4, 2e-3)
    assert Knob("x", "share", 0, 1).neighbours(0.99) == (0.98, 0.995)
    assert Knob("x", "two", 1, 64).neighbours(32) == (16, 64)
    assert Knob("x", "count", 1, 9).neighbours(1) == (2,)
    assert Knob("x", "log", 0, 1, zero=0.01).neighbours(0.0) == (0.01,)


# -- the search, with made-up seeds ---------------------------------------------------------------

STEPS = np.linspace(500, 50_000, 100)
START: dict[str, Any] = {"learning_rate": 1e-5, "gamma": 0.99, "env_steps": 50_000, "n_envs": 1}
SPACE = [Knob("learning_rate", "log", 1e-5, 1e-1), Knob("gamma", "share", 0.9, 0.999)]
BEST_RATE = 3e-3


class World:
    """Learns the faster the nearer the rate is to the best one; a person may press Ctrl-C."""

    def __init__(self, best: float = BEST_RATE, stop_at: int | None = None) -> None:
        self.best, self.stop_at = best, stop_at
        self.tried: list[dict[str, Any]] = []
        self.trained: list[tuple[dict[str, Any], range]] = []

    def one(self, settings: Mapping[str, Any], seed: int) -> RunView:
        generator = np.random.default_rng([seed, int(1e9 * settings["learning_rate"])])
        away = abs(math.log10(settings["learning_rate"] / self.best))
        pace = 2.0 / (1.0 + away) ** 2 * np.exp(0.05 * generator.normal())
        returns = 500 * (1 - np.exp(-pace * STEPS / 10_000)) + generator.normal(size=100)
        return RunView(
            Path("x"), "x", "dressage", "ppo", "CartPole-v1", {**settings, "seed": seed},
            series={"train/roll/ep_rew_mean": Series(STEPS, returns)},
            threshold=400.0, env_steps=50_000.0,
        )  # fmt: skip

    def train(self, settings: Mapping[str, Any], seeds: range) -> list[RunView]:
        self.trained.append((dict(settings), seeds))
        return [self.one(settings, seed) for seed in seeds]

    def try_out(self, patch: dict[str, Any], look: Look) -> float | None:
        self.tried.append(patch)
        if self.stop_at is not None and len(self.tried) == self.stop_at:
            raise KeyboardInterrupt
        values = self.one({**START, **patch}, 0)["train/roll/ep_rew_mean"].values
        for rung in (1, 2, 5, 9):
            if look(rung, float(values[: 10 * rung].mean())):
                return None
        return float(values.mean())


def in_memory() -> Search:
    return Search(None, "study", SPACE, START)


def search_in(folder: Path, name: str = "study") -> Search:
    return Search(f"sqlite:///{folder / 'study.db'}", name, SPACE, START)


def tuned(
    world: World,
    search: Search,
    trials: int | None = 25,
    finals: list[Final] | None = None,
    timer: Timer | None = None,
) -> Tuning:
    made = Tuning("CartPole-v1", "ppo", "frames", 1)
    search.begin([])
    tune(
        made, search, START, world.train, world.try_out, dict, trials=trials,
        timer=timer or Timer(None), finals=[] if finals is None else finals, keep=lambda: None,
        at_once=2,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def whole() -> tuple[World, Tuning]:
    world = World()
    return world, tuned(world, in_memory())


def test_a_better_setting_is_found_and_proven(whole: tuple[World, Tuning]) -> None:
    _, made = whole
    assert made.verdict == "proven" and made.verification is not None
    assert abs(math.log10(made.patch["learning_rate"] / BEST_RATE)) < 0.7
    assert made.verification.steps_ratio[2] < 0.6
    assert made.trials[0].origin == "start" and made.trials[0].patch == {}


def test_what_matters_is_told_from_what_does_not(whole: tuple[World, Tuning]) -> None:
    _, made = whole
    assert made.importance["learning_rate"] > made.importance["gamma"]
    assert sum(made.importance.values()) == pytest.approx(1.0)


def test_hopeless_trials_are_cut_short_and_good_ones_are_not(whole: tuple[World, Tuning]) -> None:
    _, made = whole
    pruned = [one for one in made.trials if one.state == "pruned"]
    assert pruned and all(0.2 <= one.share < 1.0 and one.score is None for one in pruned)

    def away(one: Tried) -> float:
        return abs(math.log10(one.patch.get("learning_rate", 1e-5) / BEST_RATE))

    done = [one for one in made.trials if one.state == "done" and one.patch]
    assert np.mean([away(one) for one in pruned]) > np.mean([away(one) for one in done])
    assert made.trials[0].state == "done"  # the start, worst of all


def test_race_and_proof_are_on_seeds_of_their_own(whole: tuple[World, Tuning]) -> None:
    world, _ = whole
    race = {s for _, seeds in world.trained for s in seeds if s < 10_000}
    proof = {s for _, seeds in world.trained for s in seeds if s >= 10_000}
    assert race and proof and min(race) > 1000 + 100  # where trials have theirs


def test_where_nothing_is_better_nothing_is_claimed() -> None:
    made = tuned(World(best=START["learning_rate"]), in_memory(), trials=8)
    assert made.verdict == "not proven" and made.patch == {}
    assert "better than the start" in made.ended or "beat the start" in made.ended


def test_an_interruption_loses_nothing_but_the_trial_it_fell_into(tmp_path: Path) -> None:
    cut = World(stop_at=7)
    made = tuned(cut, search_in(tmp_path), trials=12)
    assert made.interrupted and "interrupted" in made.ended and len(made.trials) == 6
    search = search_in(tmp_path)
    search.forget_unfinished()
    world = World()
    again = tuned(world, search, trials=12)
    assert world.tried[0] == cut.tried[-1]  # tried anew
    assert [one.patch for one in again.trials[:6]] == [one.patch for one in made.trials]
    assert len(again.trials) == 12 and len(world.tried) == 6


def test_the_same_call_again_trains_no_trial_and_a_longer_one_goes_on(tmp_path: Path) -> None:
    finals: list[Final] = []
    first = tuned(World(), search_in(tmp_path), 8, finals)
    assert len(finals) == 1
    world = World()
    again = tuned(world, search_in(tmp_path), 8, finals)
    assert not world.tried and again.winner == first.winner and len(finals) == 1
    more = World()
    assert len(tuned(more, search_in(tmp_path), 10, finals).trials) == 10
    assert len(more.tried) == 2


def test_a_second_proof_takes_other_seeds() -> None:
    finals = [Final([{"learning_rate": 0.05}], PLANNED, (3, None))]
    world = World()
    tuned(world, in_memory(), 12, finals)
    assert len(finals) == 2
    assert {s // 1000 for _, seeds in world.trained for s in seeds if s >= 10_000} == {11}


def test_time_that_is_up_keeps_the_trials() -> None:
    search = in_memory()
    assert tuned(World(), search, 6).trials
    world = World()
    made = tuned(world, search, None, timer=Timer(10.0, used=11.0))
    assert "no time was left" in made.says and len(made.trials) == 6
    assert max(seed for _, seeds in world.trained for seed in seeds) < 10_000


def test_a_proof_that_has_begun_is_finished_whatever_the_clock_says() -> None:
    search = in_memory()
    finals: list[Final] = []
    first = tuned(World(), search, 6, finals)
    finals[0] = replace(finals[0], asked=(None, 10.0))
    again = tuned(World(), search, None, finals, Timer(10.0, used=99.0))
    assert first.verification is not None and again.verification is not None
    assert again.verification.last == first.verification.last


def test_looks_and_finalists_are_what_the_time_allows() -> None:
    assert affordable(math.inf, 1.0, 4) == (4, PLANNED)
    assert affordable(24 + 2 * 12 + 1, 1.0, 4) == (4, PLANNED[:2])
    assert affordable(10 + 16, 1.0, 4) == (2, PLANNED[:1])
    assert affordable(0.0, 1.0, 4) == (1, PLANNED[:1])
    pace: dict[str, Any] = {"seeds": 2, "at_once": 2, "seconds": 200.0}
    assert [reserved(4.0, count, **pace) for count in range(5)] == [40.0, 40.0, 52.0, 68.0, 80.0]
    assert reserved(400.0, 1, **pace) == 120.0
    assert reserved(None, 0, **pace) == 50.0


class Clock:
    """In place of `time` where a search looks at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Timed(World):
    """The start scores 1; of each further trial a test says how long it takes and what it scores,
    the last that is said for all that follow."""

    def __init__(self, clock: Clock, *told: tuple[float, float | None]) -> None:
        super().__init__()
        self.clock, self.told = clock, told

    def try_out(self, patch: dict[str, Any], look: Look) -> float | None:
        self.tried.append(patch)
        place = min(len(self.tried) - 2, len(self.told) - 1)
        seconds, score = (10.0, 1.0) if not patch else self.told[place]
        self.clock.now += seconds
        return score


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("dressage.prove.tune.time", made)
    return made


WORSE = (10.0, 0.5)


def test_while_nothing_looks_better_the_search_takes_all_of_the_time(clock: Clock) -> None:
    made = tuned(Timed(clock, WORSE), in_memory(), None, timer=Timer(360.0, began=0.0))
    assert made.ended == "no trial looked better than the start"
    assert 350.0 <= clock.now <= 365.0


def test_what_looks_better_late_ends_the_search_and_is_raced(clock: Clock) -> None:
    world = Timed(clock, *[WORSE] * 28, (10.0, 2.0))
    made = tuned(world, in_memory(), None, timer=Timer(360.0, began=0.0))
    assert len(made.trials) == 30 and clock.now == 300.0
    assert made.race and made.race[1].candidate.patch == world.tried[-1]


@pytest.mark.parametrize(("better", "ends"), [(1, 260.0), (2, 230.0), (4, 160.0)])
def test_the_more_finalists_the_more_time_is_kept_for_them(
    clock: Clock, better: int, ends: float
) -> None:
    """A run takes 5 s: race and first look of one, two and four finalists 20, 26 and 40 runs."""
    world = Timed(clock, *[(10.0, 2.0 + i) for i in range(better)], WORSE)
    made = tuned(world, in_memory(), None, timer=Timer(360.0, began=0.0))
    assert clock.now == ends and len(finalists(made.trials, 9)) == better


def test_neither_one_slow_trial_nor_those_cut_short_set_the_pace(clock: Clock) -> None:
    world = Timed(clock, (10.0, 2.0), (10.0, 0.5), (90.0, 0.5), (2.0, None))
    tuned(world, in_memory(), None, timer=Timer(360.0, began=0.0))
    assert 254.0 <= clock.now <= 260.0  # 20 runs of 5 s are left, and about half a trial


def test_finalists_are_the_best_without_doubles() -> None:
    made = [
        Tried(i, patch, "done" if score else "pruned", score, 1.0, "search")
        for i, (patch, score) in enumerate(
            [
                ({}, 2.0),
                ({"a": 1}, 3.0),
                ({"a": 2}, 5.0),
                ({"a": 2}, 4.0),
                ({"a": 3}, None),
                ({"a": 4}, 1.0),
            ]
        )
    ]
    assert finalists(made, 4) == [{"a": 2}, {"a": 1}]


# -- real seeds -----------------------------------------------------------------------------------

CHEAP: dict[str, Any] = {"env_steps": 6144, "eval_every": 0, "final_eval_episodes": 0}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, list[str]]:
    root, said = tmp_path_factory.mktemp("runs"), list[str]()
    run = dressage.train("CartPole-v1", lr=1e-6, runs=root, **CHEAP)
    report = dressage.tune(start=run, trials=3, goal="return", runs=root, say=said.append)
    return root, report, said


def test_a_run_is_tuned_from_its_prescriptions(real: tuple[Path, Any, list[str]]) -> None:
    root, report, said = real
    made = report.tuning
    assert made.verdict == "proven", said
    assert [one.origin for one in made.trials][:2] == ["start", "prescribed"]
    preset = yaml.safe_load(report.preset.read_text())
    assert preset["settings"]["learning_rate"] != 1e-6 and preset["earned"]["verdict"] == "proven"
    # as `dressage train --config` reads it: over the preset of this environment
    values = dressage.resolve_config(config=report.preset).values()
    assert {name: values[name] for name in made.patch} == made.patch and values["env_steps"] == 6144
    (kept,) = record.read(root / record.FILE)
    assert kept.verdict == "proven" and kept.patch == made.winner
    for name in ("report.md", "report.html", "report.json", "report-curve.svg"):
        assert (report.preset.parent / name).stat().st_size > 500
    told = json.loads((report.preset.parent / "report.json").read_text())
    assert told["verdict"] == "proven" and told["command"] in report.markdown
    assert not list(report.preset.parent.glob("trials/**/checkpoints"))
    assert any("searching for about" in line for line in said)


def test_the_same_command_again_shows_the_same(real: tuple[Path, Any, list[str]]) -> None:
    root, report, _ = real
    run = next(path for path in root.iterdir() if path.name.startswith("cartpole"))
    again = dressage.tune(start=run, trials=3, goal="return", runs=root)
    assert again.tuning.winner == report.tuning.winner
    assert again.tuning.verification.last == report.tuning.verification.last
    assert len(record.read(root / record.FILE)) == 1


def test_the_command_ends_in_json_and_in_what_to_type(
    real: tuple[Path, Any, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    root, report, _ = real
    run = next(path for path in root.iterdir() if path.name.startswith("cartpole"))
    words = ["tune", "--from", run, "--trials", 3, "--goal", "return", "--runs", root, "--json"]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert not ended.value.code
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1])["patch"] == report.tuning.patch
    assert f"run it: dressage train --config {report.preset}" in said.err


def test_the_command_without_a_limit_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tune", "CartPole-v1:ppo"])
    assert ended.value.code == 2 and "--minutes 30" in capsys.readouterr().err


def test_a_group_ends_where_its_watch_says_so(tmp_path: Path) -> None:
    """Pruned by its curve, with a checkpoint, long before its budget."""
    seen: list[tuple[int, float]] = []

    def look(rung: int, value: float) -> bool:
        seen.append((rung, value))
        return rung == 2

    watch = Watch(look, "frames", 600_000, 2)
    group = dressage.train(
        "CartPole-v1", env_steps=600_000, eval_every=0, seeds=2, runs=tmp_path, hooks=[watch]
    )
    assert group.status == "stopped" and watch.ended
    assert [rung for rung, _ in seen] == [1, 2] and all(value > 0 for _, value in seen)
    done = [member.metrics()["env_steps"][-1] for member in group.members]
    assert all(120_000 <= steps < 600_000 for steps in done)


def test_a_watch_waits_for_the_slower_seed(tmp_path: Path) -> None:
    watch = Watch(lambda rung, value: True, "frames", 1000, 2)
    states = [MemberState(i, "running", n, 1000, {}, tmp_path) for i, n in enumerate((900, 50))]
    assert watch.on_group(states) is None and watch.rung == 1


def test_a_watch_bears_with_a_run_that_has_no_return_yet(tmp_path: Path) -> None:
    settings = {"env_steps": 100, "learning_starts": 50, "net_arch": [8], "eval_every": 0}
    run = dressage.train("Pendulum-v1:sac", runs=tmp_path, log_every=50, **settings)
    assert "train/roll/ep_rew_mean" not in run.metrics()
    watch = Watch(lambda rung, value: True, "frames", 100, 1)
    state = MemberState(0, "running", 100, 100, {}, run.path)
    assert watch.on_group([state]) is None and not watch.ended


def test_a_single_seed_is_watched_too(tmp_path: Path) -> None:
    watch = Watch(lambda rung, value: rung == 3, "return", 100_000, 1)
    run = dressage.train("CartPole-v1", eval_every=0, runs=tmp_path, hooks=[watch])
    assert run.status == "stopped" and run.metrics()["env_steps"][-1] < 50_000


def test_a_preset_file_wins_over_the_preset_that_comes_with_the_package(tmp_path: Path) -> None:
    """CartPole's has batch_size=256; the algorithm's default, 64, must then stand in the file."""
    made = Tuning("CartPole-v1", "ppo", "frames", 2)
    _, _, start = start_of("CartPole-v1", "ppo", {})
    _write_presets(tmp_path, made, start | {"batch_size": 64})
    values = dressage.resolve_config(config=tmp_path / "tuned.yaml").values()
    assert {name: values[name] for name in start} == start | {"batch_size": 64}


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "--trials 50, or --minutes"),
        ({"trials": 0}, "--trials is 0"),
        ({"minutes": -1.0}, "--minutes is -1"),
        ({"trials": 1, "seeds": 0}, "--seeds is 0"),
        ({"trials": 1, "goal": "wall"}, "goal is 'wall'"),
        ({"trials": 1, "seed": 3}, "'seed' is no setting of a search"),
        ({"trials": 1, "storage": "nonsense"}, "storage .* cannot be used"),
        ({"trials": 1, "storage": "postgresql+nodriver://me:secret@h/x"}, "cannot be used"),
        ({"trials": 1, "lrr": 1}, "lrr"),
    ],
)
def test_what_makes_no_search_gets_a_sentence(
    tmp_path: Path, given: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=why) as error:
        dressage.tune("CartPole-v1:ppo", runs=tmp_path, **given)
    assert "secret" not in str(error.value)


def test_another_environment_than_the_runs_is_refused(
    real: tuple[Path, Any, list[str]],
) -> None:
    root = real[0]
    run = next(path for path in root.iterdir() if path.name.startswith("cartpole"))
    with pytest.raises(ConfigError, match="is a run of CartPole-v1:ppo"):
        dressage.tune("Acrobot-v1", start=run, trials=1, runs=root)


def test_without_optuna_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(DressageError, match=r"pip install 'dressage\[tune\]'"):
        dressage.tune("CartPole-v1:ppo", trials=1, runs=tmp_path)
