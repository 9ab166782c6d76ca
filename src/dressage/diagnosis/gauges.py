"""Gauges: numbers of a log that have no threshold.

A rule says what a number beyond its threshold means. Many numbers have no such place, and tell of
causes all the same: how a policy's loss begins, how unevenly a critic moves. Labelled runs have
told in which of a few ranges each of them lies, cause by cause (`benchmarks/faults/gauged.py`
chooses which to read); as rules that fire, those counts are shrunk towards what is usual.

A reading is taken at no more than `ROWS` rows, as the labelled runs were kept, so that a long log
is no rougher than a short one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dressage.runs.table import Array
from dressage.runs.view import RunView

ROWS = 64
FEWEST_ROWS, FEWEST_EPISODES = 3, 11
OF_ALL, OF_FAMILY = 4.0, 3.0  # environments that what is usual counts as, and the cause's own
EPISODES = "episodes"  # instead of a metric
TINY = 1e-12

Counts = Mapping[str, Mapping[str, list[float]]]  # cause -> family -> environments by range


@dataclass(frozen=True)
class Ranges:
    """Of one gauge: where its ranges meet, and how many environments lay in which."""

    cuts: list[float]
    counts: Counts

    def place(self, reading: float) -> int:
        return int(np.searchsorted(self.cuts, reading))

    def logs(self, family: str) -> dict[str, Array]:
        """By cause: ln of the share of runs in each range, beside the usual share in this family
        of algorithms. Causes that were not seen are left out: they count as usual."""
        nothing = [0.0] * (len(self.cuts) + 1)
        every = [np.sum([*by.values()], axis=0) for by in self.counts.values()]
        of_all = np.array(every).reshape(-1, len(nothing))
        own = [by.get(family, nothing) for by in self.counts.values()]
        of_family = np.array(own).reshape(of_all.shape)
        return dict(zip(self.counts, log_shares(of_family, of_all), strict=True))


def log_shares(of_family: Array, of_all: Array) -> Array:
    """Environments by cause and range, in a family of algorithms and in all: [causes, ranges]."""
    here = of_family if of_family.any() else of_all
    seen = here[here.any(axis=1)]
    usual = np.sum(seen / seen.sum(axis=1, keepdims=True), axis=0) + 1.0 / of_all.shape[1]
    usual /= len(seen) + 1
    overall = (of_all + OF_ALL * usual) / (of_all.sum(axis=1, keepdims=True) + OF_ALL)
    shares = (of_family + OF_FAMILY * overall) / (of_family.sum(axis=1, keepdims=True) + OF_FAMILY)
    return np.asarray(np.log(shares / usual))


# -- what is read --------------------------------------------------------------------------------


def reading(run: RunView, gauge: str) -> float:
    """`gauge`: a metric and the part of it, or of the episodes; NaN where it cannot be told."""
    metric, _, part = gauge.rpartition(" ")
    if metric == EPISODES:
        values, fewest, parts = run.episodes.returns, FEWEST_EPISODES, OF_EPISODES
    else:
        values, fewest, parts = run[metric].values, FEWEST_ROWS, OF_A_METRIC
        if len(values) > ROWS:
            values = values[np.linspace(0, len(values) - 1, ROWS).round().astype(int)]
    values = values[np.isfinite(values)]
    if len(values) < fewest:
        return math.nan
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = parts[part](values)
    return found if math.isfinite(found) else math.nan


def readings(run: RunView, gauges: Iterable[str]) -> dict[str, float]:
    """Those that can be told."""
    known = {gauge: reading(run, gauge) for gauge in gauges}
    return {gauge: value for gauge, value in known.items() if not math.isnan(value)}


def sentence(run: RunView, gauge: str, reading: float, times: float) -> str:
    """`times`: as common with a cause as in healthy runs."""
    metric, _, part = gauge.rpartition(" ")
    seen = SAYS[part].format(metric=run.own_name(metric), value=reading)
    often = f"{times:.0f}" if times >= 10 else f"{times:.1f}"
    return f"{seen}: about {often} times as common with this cause as in healthy runs."


def _start(values: Array) -> float:
    return float(np.median(values[: max(1, len(values) // 10)]))


def _end(values: Array) -> float:
    return float(np.median(values[-max(1, len(values) // 5) :]))


def _middle(values: Array) -> float:
    third = len(values) // 3
    return float(np.median(values[third : 2 * third + 1]))


def _digits(value: float) -> float:
    """The digits before the seventh decimal, with the sign: of numbers of any size."""
    return math.copysign(math.log10(1.0 + abs(value) * 1e6), value)


def _growth(values: Array) -> float:
    return _digits(_end(values)) - _digits(_start(values))


def _scatter(values: Array) -> float:
    return float(np.median(np.abs(values - np.median(values))))


def _roughness(values: Array) -> float:
    """What neighbouring rows differ by, beside what all do."""
    return (float(np.median(np.abs(np.diff(values)))) + TINY) / (_scatter(values) + TINY)


def _spread(values: Array) -> float:
    return _scatter(values) / (abs(float(np.median(values))) + TINY)


def _trend(values: Array) -> float:
    """Rank correlation with time."""
    if len(values) < 5 or values.std() == 0.0:
        return 0.0
    return float(np.corrcoef(np.argsort(np.argsort(values)), np.arange(len(values)))[0, 1])


def _neighbours(returns: Array) -> float:
    """How alike the returns of episodes are that ended one after the other."""
    if returns.std() == 0.0:
        return 0.0
    return float(np.corrcoef(returns[:-1], returns[1:])[0, 1])


def _gain(returns: Array) -> float:
    """What late episodes return more than early ones, in deviations."""
    fifth = len(returns) // 5
    gained = np.median(returns[-fifth:]) - np.median(returns[: fifth + 1])
    return float(gained) / (float(returns.std()) + 1e-9)


OF_A_METRIC: dict[str, Callable[[Array], float]] = {
    "start": _start,
    "middle": _middle,
    "end": _end,
    "growth": _growth,
    "trend": _trend,
    "roughness": _roughness,
    "spread": _spread,
    "smallest": lambda values: float(values.min()),
    "largest": lambda values: float(values.max()),
}
OF_EPISODES: dict[str, Callable[[Array], float]] = {"neighbours": _neighbours, "gain": _gain}
SAYS = {
    "start": "{metric} begins at {value:.3g}",
    "middle": "{metric} is {value:.3g} midway",
    "end": "{metric} ends at {value:.3g}",
    "growth": "{metric} changes by {value:.2g} powers of ten from its start to its end",
    "trend": "{metric} has a rank correlation of {value:.2f} with time",
    "roughness": "{metric} differs from row to row by {value:.2g} times what all rows differ by",
    "spread": "{metric} scatters by {value:.2g} of its median",
    "smallest": "{metric} is {value:.3g} at its smallest",
    "largest": "{metric} is {value:.3g} at its largest",
    "neighbours": "returns of neighbouring episodes have a correlation of {value:.2f}",
    "gain": "late episodes return {value:.2g} deviations more than early ones",
}
