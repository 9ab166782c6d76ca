"""`compare`: groups of runs in, everything that can be said about their difference out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.prove.bootstrap import Estimate, aggregate, difference, improvement
from dressage.prove.coverage import caution
from dressage.prove.measures import (
    area,
    common_end,
    final_return,
    on_one_axis,
    return_series,
    solved_at,
    steps_to,
)
from dressage.prove.parting import Parting, parting
from dressage.prove.permutation import cliffs_delta, holm, permutation_test, size_in_words
from dressage.prove.power import seeds_needed
from dressage.prove.settings import Difference, differences
from dressage.prove.survival import Times, log_rank, log_rank_test, ratio_of_means, times
from dressage.runs.view import RunView

ALPHA = 0.05
FEWEST = 3  # seeds a side below which no test is made
PHASES = ("first third", "second third", "last third")
STABILITY = (
    "train/metrics/kl_divergence",
    "train/metrics/clip_fraction",
    "train/metrics/entropy",
    "train/metrics/explained_variance",
    "train/metrics/grad_clipped",
    "train/loss/policy",
    "train/loss/value",
    "train/loss/td",
    "train/loss/critic",
    "train/loss/actor",
    "train/metrics/q_mean",
    "train/metrics/alpha",
)


@dataclass(frozen=True)
class Side:
    name: str
    runs: list[RunView]


@dataclass(frozen=True)
class SideFigures:
    name: str
    seeds: int
    final: list[float]  # of each run
    final_iqm: Estimate
    area: list[float]
    area_iqm: Estimate
    steps_to_threshold: list[float | None]  # None: never
    budget: float  # env steps that its longest run made


@dataclass(frozen=True)
class Test:
    of: str
    p: float  # two-sided
    adjusted: float  # corrected for all tests of the comparison (Holm)
    better: bool  # b is the better one by it


@dataclass(frozen=True)
class Pair:
    """b against a."""

    a: str
    b: str
    final: Estimate  # difference of the IQMs
    better: Estimate  # probability that a run of b ends above one of a
    tests: list[Test]
    steps_ratio: tuple[float, float, float]  # restricted means, b's over a's, with its interval
    effect: float  # Cliff's delta
    effect_words: str
    more_seeds: int | None  # a side, to settle it; None: not within 200
    says: str
    parting: Parting


@dataclass(frozen=True)
class Stability:
    metric: str
    medians: dict[str, list[float]]  # side -> one for each phase


@dataclass(frozen=True)
class Comparison:
    env: str | None
    threshold: float
    threshold_from: str
    env_steps: float  # the common axis
    sides: list[SideFigures]
    pairs: list[Pair]
    settings: list[Difference]
    stability: list[Stability]
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    sides: Sequence[Side], threshold: float | None = None, alpha: float = ALPHA, seed: int = 0
) -> Comparison:
    """The first side is what the others are held against."""
    _check(sides)
    rng = np.random.default_rng(seed)
    every = [run for side in sides for run in side.runs]
    end = common_end(every)
    bound, whence = solved_at([side.runs for side in sides], threshold)
    figures = [_figures(side, end, bound, rng) for side in sides]
    first = figures[0]
    tested = _corrected([_tests(first, other, rng) for other in figures[1:]])
    pairs = [
        _pair((sides[0], side), (first, other), tests, end, alpha, rng)
        for side, other, tests in zip(sides[1:], figures[1:], tested, strict=True)
    ]
    return Comparison(
        env=every[0].env,
        threshold=bound,
        threshold_from=whence,
        env_steps=end,
        sides=figures,
        pairs=pairs,
        settings=differences([side.runs for side in sides]),
        stability=_stability(sides, end),
        notes=_notes(sides, every, end),
    )


def _check(sides: Sequence[Side]) -> None:
    if len(sides) < 2:
        raise RunError("A comparison needs two runs or groups: `dressage compare A B`.")
    for side in sides:
        if not any(return_series(run) for run in side.runs):
            raise RunError(
                f"{side.name} has no returns to compare: none of its runs logged an episode."
            )
    envs = {run.env for side in sides for run in side.runs if run.env}
    if len(envs) > 1:
        raise RunError(
            f"The runs are of different environments ({', '.join(sorted(envs))}): their returns "
            "cannot be compared. Compare runs of one environment."
        )
    end = common_end([run for side in sides for run in side.runs])
    if end <= 0:
        raise RunError("The runs have no env steps in common.")
    for side in sides:
        first = min(
            float(series.env_steps[0]) for run in side.runs if (series := return_series(run))
        )
        if first >= end:
            raise RunError(
                f"The runs have no env steps in common: {side.name} logged its first return at "
                f"{first:,.0f}, where another run had ended ({end:,.0f}). Compare runs that "
                "trained for about as long."
            )


def _figures(side: Side, end: float, bound: float, rng: np.random.Generator) -> SideFigures:
    runs = [run for run in side.runs if return_series(run)]
    final = np.array([final_return(run) for run in runs])
    areas = np.array([area(run, end) for run in runs])
    return SideFigures(
        name=side.name,
        seeds=len(runs),
        final=final.tolist(),
        final_iqm=aggregate([final], rng),
        area=areas.tolist(),
        area_iqm=aggregate([areas], rng),
        steps_to_threshold=[steps_to(run, bound) for run in runs],
        budget=max(float(return_series(run).env_steps[-1]) for run in runs),
    )


def _times(side: SideFigures) -> Times:
    return times(side.steps_to_threshold, [side.budget] * side.seeds)


def _tests(a: SideFigures, b: SideFigures, rng: np.random.Generator) -> list[Test]:
    if min(a.seeds, b.seeds) < FEWEST:
        return []
    final = permutation_test(np.array(a.final), np.array(b.final), rng)
    areas = permutation_test(np.array(a.area), np.array(b.area), rng)
    sooner = log_rank(_times(a), _times(b))
    steps = log_rank_test(_times(a), _times(b), rng)
    return [
        Test("final return", final.p, final.p, final.better > 0.5),
        Test("area under the curve", areas.p, areas.p, areas.better > 0.5),
        Test("env steps to the threshold", steps, steps, sooner > 0),
    ]


def _corrected(tested: list[list[Test]]) -> list[list[Test]]:
    adjusted = iter(holm([test.p for tests in tested for test in tests]))
    return [[replace(test, adjusted=next(adjusted)) for test in tests] for tests in tested]


def _pair(
    sides: tuple[Side, Side],
    figures: tuple[SideFigures, SideFigures],
    tests: list[Test],
    end: float,
    alpha: float,
    rng: np.random.Generator,
) -> Pair:
    a, b = figures
    final_a, final_b = np.array(a.final), np.array(b.final)
    delta = cliffs_delta(final_a, final_b)
    horizon = min(a.budget, b.budget)
    more = None
    if tests and min(test.adjusted for test in tests) > alpha:
        needed = seeds_needed(np.array(a.area), np.array(b.area), rng)
        more = None if needed is None else max(0, needed - min(a.seeds, b.seeds))
    return Pair(
        a=a.name,
        b=b.name,
        final=difference(final_a, final_b, rng),
        better=improvement(final_a, final_b, rng),
        tests=tests,
        steps_ratio=ratio_of_means(_times(a), _times(b), horizon, rng, draws=500),
        effect=delta,
        effect_words=size_in_words(delta),
        more_seeds=more,
        says=_says(a, b, tests, alpha, more),
        parting=parting(sides[0].runs, sides[1].runs, end),
    )


def _says(a: SideFigures, b: SideFigures, tests: list[Test], alpha: float, more: int | None) -> str:
    if not tests:
        return (
            f"With {a.seeds} and {b.seeds} runs nothing can be concluded about the method: another "
            "seed may say the opposite. Train at least eight a side (`seeds=8`)."
        )
    sure = sorted((t for t in tests if t.adjusted <= alpha), key=lambda t: t.p)
    if not sure:
        least = min(test.adjusted for test in tests)
        further = (
            "not even 200 seeds a side would be likely to settle it"
            if more is None
            else f"about {more} more seeds a side would, if they go on like this"
        )
        return f"No difference is proven (least p {least:.2g}, corrected); {further}."
    words = " and ".join(
        f"{'better' if good else 'worse'} in {', '.join(t.of for t in sure if t.better == good)}"
        for good in dict.fromkeys(test.better for test in sure)
    )
    return f"{b.name} is {words} than {a.name} (p {sure[0].adjusted:.2g}, corrected)."


def _stability(sides: Sequence[Side], end: float) -> list[Stability]:
    """Medians by thirds of the common axis, of metrics that every side has."""
    gradients = sorted(
        name for name in sides[0].runs[0].series if name.startswith("train/metrics/grad_norm/")
    )
    found = []
    for metric in (*gradients, *STABILITY):
        medians: dict[str, list[float]] = {}
        for side in sides:
            _, rows = on_one_axis(side.runs, metric, end)
            if not np.isfinite(rows).any():
                break
            thirds = np.array_split(rows, 3, axis=1)
            medians[side.name] = [
                float(np.nanmedian(part)) if np.isfinite(part).any() else math.nan
                for part in thirds
            ]
        else:
            found.append(Stability(metric, medians))
    return found


def _notes(sides: Sequence[Side], every: Sequence[RunView], end: float) -> list[str]:
    notes = []
    for side in sides:
        silent = sum(not return_series(run) for run in side.runs)
        if silent:
            notes.append(f"{silent} of {len(side.runs)} runs of {side.name} logged no return.")
    if note := caution(min(len(side.runs) for side in sides)):
        notes.append(note)
    longest = max(float(return_series(run).env_steps[-1]) for run in every if return_series(run))
    if longest > 1.05 * end:
        notes.append(
            f"The runs differ in length: curves and areas are compared up to {end:,.0f} of up to "
            f"{longest:,.0f} env steps."
        )
    return notes
