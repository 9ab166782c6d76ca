"""Which settings matter: paired statistics, made-up seeds, real ones, and the tornado plot."""

from __future__ import annotations

import itertools
import json
import math
import xml.etree.ElementTree as xml
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.errors import ConfigError, RunError
from dressage.prove.optimize import OutOfTime
from dressage.prove.paired import blocks_differ, paired_shift
from dressage.prove.sensitivity import (
    FIRST_SEED,
    Change,
    Sensed,
    Sensitivity,
    perturbed,
    said,
    sensitivity,
)
from dressage.prove.sensitivity_report import sensitivity_report
from dressage.prove.spaces import Knob, valid
from dressage.reporting.document import Bar, Tornado
from dressage.reporting.tornado import svg, text_rows
from dressage.runs.view import RunView, Series
from dressage.tuning import start_of

# -- statistics -----------------------------------------------------------------------------------


def test_a_shift_is_the_median_of_means_of_two() -> None:
    d = np.array([1.0, 4.0, -2.0, 7.0, 3.0, 2.0])
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(d, 2))
    found = paired_shift(d)
    assert found.value == pytest.approx(float(np.median(means)))
    # of 64 ways to give six ranks signs, one sums to 0 and one to all: both ends are left out
    assert (found.low, found.high) == (means[0], means[-1])
    assert found.level == pytest.approx(1 - 2 / 64)


def test_the_interval_is_the_one_that_the_signed_rank_test_does_not_refuse() -> None:
    d = np.array([0.3, 1.9, -0.4, 2.2, 1.1, 0.8, 1.4, -0.9, 0.6])
    found = paired_shift(d)

    def p(shift: float) -> float:
        """Two-sided, by all signs."""
        moved = d - shift
        ranks = np.argsort(np.argsort(np.abs(moved))) + 1
        seen = abs(float((np.sign(moved) * ranks).sum()))
        signs = np.array(list(itertools.product((-1, 1), repeat=len(d))))
        return float((np.abs(signs @ ranks) >= seen).mean())

    assert p(found.low + 1e-6) > 1 - found.level and p(found.high - 1e-6) > 1 - found.level
    assert p(found.low - 1e-6) <= 1 - found.level + 1e-12
    assert p(found.high + 1e-6) <= 1 - found.level + 1e-12


def test_intervals_hold_what_they_promise() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(1000):
        found = paired_shift(3.0 + rng.standard_t(3, size=8))
        held += found.low <= 3.0 <= found.high
    assert 0.945 <= held / 1000 <= 0.98  # 96.1 % exactly, for any even spread


def test_columns_that_are_alike_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        table = rng.normal(size=(8, 1)) * 5 + rng.exponential(size=(8, 3))
        wrong += blocks_differ(table, rng, draws=400) <= 0.05
    assert wrong <= 19  # ten are expected; twenty and more have a chance of a third of a percent


def test_a_column_that_differs_is_found_beneath_the_seeds_own_differences() -> None:
    rng = np.random.default_rng(2)
    table = 100 * rng.normal(size=(8, 1)) + rng.normal(size=(8, 3)) + [0.0, 0.0, 4.0]
    assert blocks_differ(table, rng) < 0.002
    assert blocks_differ(np.ones((8, 3)), rng) == 1.0


# -- made-up seeds --------------------------------------------------------------------------------

STEPS = np.linspace(500, 50_000, 100)
SETTINGS: dict[str, Any] = {"learning_rate": 1e-3, "gamma": 0.99, "n_epochs": 10}
ASKED = [
    (Knob("learning_rate", "log", 1e-5, 1e-1), [{"learning_rate": 5e-4}, {"learning_rate": 2e-3}]),
    (Knob("gamma", "share", 0.9, 0.999), [{"gamma": 0.98}, {"gamma": 0.995}]),
    (Knob("n_epochs", "count", 1, 20), [{"n_epochs": 5}]),
]


class World:
    """A rate of half the size learns at half the pace, and nothing else matters."""

    def __init__(self, limit: int = 99, error: type[BaseException] = OutOfTime) -> None:
        self.limit, self.error, self.asked = limit, error, list[tuple[dict[str, Any], range]]()

    def train(self, settings: Mapping[str, Any], seeds: range) -> list[RunView]:
        self.asked.append((dict(settings), seeds))
        if len(self.asked) > self.limit:
            raise self.error
        return [self.one(settings, seed) for seed in seeds]

    def one(self, settings: Mapping[str, Any], seed: int) -> RunView:
        own = np.random.default_rng(seed)
        noise = np.random.default_rng([seed, hash(tuple(settings.values())) % 2**31])
        pace = settings["learning_rate"] / 1e-3 * np.exp(0.3 * own.normal() + 0.02 * noise.normal())
        returns = 500 * (1 - np.exp(-pace * STEPS / 10_000))
        series = {"train/roll/ep_rew_mean": Series(STEPS, returns)}
        return RunView(Path("x"), "x", "dressage", "ppo", "CartPole-v1", series=series)


def sensed(world: World, seeds: int = 8) -> tuple[Sensitivity, list[str]]:
    made, lines = Sensitivity("CartPole-v1", "ppo", seeds, 50_000), list[str]()
    sensitivity(made, SETTINGS, ASKED, world.train, budget=50_000, say=lines.append)
    return made, lines


@pytest.fixture(scope="module")
def found() -> Sensitivity:
    return sensed(World())[0]


def test_what_matters_comes_first_and_the_rest_is_told_honestly(found: Sensitivity) -> None:
    assert [one.setting for one in found.found if one.matters] == ["learning_rate"]
    rate = found.found[0]
    slower, faster = rate.changes
    assert slower.area.high < 0 < faster.area.low and slower.value == 5e-4
    gamma = next(one for one in found.found if one.setting == "gamma")
    assert gamma.bound >= gamma.size and gamma.bound < rate.size
    assert said(gamma, 8) == (
        f"no effect seen with 8 seeds; an effect of up to {gamma.bound:.3g} cannot be excluded"
    )
    assert found.says.startswith(
        "What matters here: learning_rate. No effect was seen with 8 seeds: "
    )


def test_a_hint_is_called_a_hint() -> None:
    shift = paired_shift(np.arange(1.0, 9.0))
    change = Change(2, shift, shift)
    one = Sensed("x", 1, [change], p=(0.02, 0.5), adjusted=(0.12, 1.0))
    assert one.hints and not one.matters and said(one, 8).startswith("a hint")
    assert not Sensed("x", 1, [change], (0.02, 0.5), (0.04, 1.0)).hints


def test_all_values_share_their_seeds() -> None:
    world = World()
    sensed(world, 6)
    assert {tuple(seeds) for _, seeds in world.asked} == {tuple(range(FIRST_SEED, FIRST_SEED + 6))}
    assert len(world.asked) == 6 and world.asked[0][0] == SETTINGS


def test_p_is_corrected_for_all_settings_and_both_measures(found: Sensitivity) -> None:
    least = min(p for one in found.found for p in one.p)
    assert min(p for one in found.found for p in one.adjusted) == pytest.approx(6 * least)


@pytest.mark.parametrize("error", [OutOfTime, KeyboardInterrupt])
def test_what_there_was_no_time_for_is_named(error: type[BaseException]) -> None:
    made, _ = sensed(World(4, error))
    assert [one.setting for one in made.found] == ["learning_rate"]
    assert made.left == ["gamma", "n_epochs"] and "goes on from here" in made.says
    assert sensed(World(0, error))[0].says.startswith("Not tried: learning_rate, gamma, n_epochs (")


def test_seeds_without_a_return_are_told_so() -> None:
    made = Sensitivity("CartPole-v1", "ppo", 6, 100)
    with pytest.raises(RunError, match="logged no return"):
        sensitivity(
            made, SETTINGS, ASKED, lambda _, seeds: [RunView(Path("x"), "x", "dressage")], budget=9
        )


def test_progress_has_an_estimate_of_the_time_left() -> None:
    assert all("left" in line for line in sensed(World())[1][1:])


def test_the_report_says_it_in_every_form(found: Sensitivity, tmp_path: Path) -> None:
    report = sensitivity_report(found, "some-run")
    assert "learning_rate" in report.text and "█" in report.text
    assert '<svg class="tornado"' in report.html
    report.write(tmp_path)
    assert "report-curve.svg" in (tmp_path / "report.md").read_text()
    told = json.loads(json.dumps(report.to_json(), default=str))
    assert told["found"][0]["matters"] is True and "cannot be excluded" in told["found"][1]["says"]


def test_perturbations_are_valid_and_name_what_goes_with_them() -> None:
    env, algo, start = start_of("CartPole-v1", "ppo", {"batch_size": 256, "n_steps": 32})
    space = [Knob("n_steps", "two", 16, 64), Knob("gamma", "share", 0.0, 1.0)]
    made = perturbed(space, start | {"gamma": 0.3}, lambda patch: valid(env, algo, start, patch))
    assert made[0][1] == [{"n_steps": 16, "batch_size": 128}, {"n_steps": 64}]
    assert made[1][1] == [{"gamma": 0.65}]  # twice what it lacks would be below zero


# -- the plot -------------------------------------------------------------------------------------


def test_a_tornado_is_well_formed_whatever_it_shows() -> None:
    bars = [
        Bar("<b>&", "x0.5", -4.0, -6.0, -2.0, True),
        Bar("<b>&", "x2", 2.0, -1.0, 5.0, False),
        Bar("none", "1", 0.0, 0.0, 0.0, False),
    ]
    plot = Tornado("T & <t>", "unit", bars)
    tree = xml.fromstring(svg(plot))
    rectangles = [one for one in tree.iter() if one.tag.endswith("rect")][1:]
    sizes = [float(one.attrib["width"]) for one in rectangles]
    assert sizes[0] == pytest.approx(2 * sizes[1], rel=0.02)
    ends = [float(one.attrib["x"]) + size for one, size in zip(rectangles, sizes, strict=True)]
    assert ends[0] == pytest.approx(float(rectangles[1].attrib["x"]), abs=0.2)  # zero
    rows = text_rows(plot)
    assert rows[0][2].count("█") == 2 * rows[1][3].count("░") > 0 and rows[1][0] == ""
    assert xml.fromstring(svg(Tornado("", "", []))).tag.endswith("svg")


# -- real seeds -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("runs")
    cheap = {"eval_every": 0, "final_eval_episodes": 0}
    return dressage.train("CartPole-v1", env_steps=4096, runs=root, **cheap)


def test_a_real_run_is_perturbed_and_nothing_is_trained_twice(run: Any) -> None:
    root = run.path.parent
    report = dressage.sensitivity(run, ["learning_rate", "gae_lambda"], seeds=6, runs=root)
    made = report.sensitivity
    assert {one.setting for one in made.found} == {"learning_rate", "gae_lambda"}
    assert all(len(one.changes) == 2 for one in made.found) and made.area > 10
    rates = next(one for one in made.found if one.setting == "learning_rate").changes
    assert [one.value for one in rates] == ["linear(0.0005, 0)", "linear(0.002, 0)"]
    times = {path: path.stat().st_mtime_ns for path in _curves(root)}
    assert len(times) == 6 * 5
    again = dressage.sensitivity(run, ["learning_rate", "gae_lambda"], seeds=6, runs=root)
    assert again.sensitivity.found == made.found
    assert times == {path: path.stat().st_mtime_ns for path in times}


def _curves(root: Path) -> set[Path]:
    return {path.resolve() for path in root.glob("sensitivity-*/*/*/*/metrics.csv")}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"seeds": 3}, "expected at least 6"),
        ({"minutes": 0.0}, "--minutes is 0"),
        ({"minutes": math.nan}, "--minutes is nan"),
        ({"settings": ["lrr"]}, "'lrr' is no setting that can be perturbed"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(run: Any, given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        dressage.sensitivity(run, runs=run.path.parent, **given)


def test_runs_of_other_libraries_are_refused() -> None:
    sample = next((Path(__file__).parents[1] / "readers" / "samples").glob("*sb3*"))
    with pytest.raises(ConfigError, match="is a run of"):
        dressage.sensitivity(sample)
