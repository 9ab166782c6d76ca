"""The learning rate as it really ran, and the return gained in each part of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from dressage.diagnosis.look import returns
from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule
from dressage.runs.table import Array
from dressage.runs.view import RunView, Series

RATE = "train/hp/lr"
QUARTERS = 4  # parts of a rate that falls or rises throughout
POINTS = 200  # of a schedule that is known from the config alone
JUMP = 1.5  # ratio of neighbours above which a new part begins
MOST = 8  # parts
OVER = 0.01  # share of its largest value below which a rate is as good as zero
AROUND = 0.02  # share of the run about a place over which the return there is a median


@dataclass(frozen=True)
class Part:
    begin: float  # env steps
    end: float
    first: float  # learning rate where it begins and ends
    last: float
    gained: float  # return at its end less that at its beginning; nan where not known
    share: float  # of what the whole run gained; nan where it gained nothing or lost


@dataclass(frozen=True)
class RateSchedule:
    source: Literal["as logged", "as configured", "not known"]
    shape: Literal["constant", "falls", "rises", "steps", "not known"]
    parts: list[Part]
    over_at: float | None  # env steps from which the rate is as good as zero, before the end
    left: float  # share of the run that came after that


def rate_schedule(run: RunView) -> RateSchedule:
    source: Literal["as logged", "as configured", "not known"] = "as logged"
    series = _finite(run[RATE])
    if len(series.values) < 2:
        series, source = _configured(run), "as configured"
    if len(series.values) < 2:
        return RateSchedule("not known", "not known", [], None, 0.0)
    x, rate = series
    edges, shape = parts_of(x, rate)
    curve = _finite(returns(run))
    total = _gain(curve, x[0], x[-1])
    parts = []
    for begin, end in pairwise(edges):
        first, last = int(np.searchsorted(x, begin)), int(np.searchsorted(x, end, "right")) - 1
        gained = _gain(curve, begin, end)
        share = gained / total if total > 1e-12 else math.nan
        first, last = min(first, len(x) - 1), max(last, min(first, len(x) - 1))
        if shape == "steps" and end != edges[-1]:
            last = max(first, last - 1)  # the place of a jump belongs to the part after it
        parts.append(Part(begin, end, float(rate[first]), float(rate[last]), gained, share))
    over = _over(x, rate)
    left = (float(x[-1]) - over) / max(float(x[-1] - x[0]), 1.0) if over is not None else 0.0
    return RateSchedule(source, shape, parts, over, left)


def parts_of(
    x: Array, rate: Array
) -> tuple[list[float], Literal["constant", "falls", "rises", "steps"]]:
    """Where the parts of a schedule begin and end, and how it goes."""
    ends = [float(x[0]), float(x[-1])]
    largest = float(np.abs(rate).max())
    if float(np.ptp(rate)) <= 1e-3 * largest:
        return ends, "constant"
    before, after = np.maximum(rate[:-1], 1e-12 * largest), np.maximum(rate[1:], 1e-12 * largest)
    ratio = np.maximum(before / after, after / before)
    jumps = np.flatnonzero(ratio > JUMP) + 1
    changes = int((np.abs(np.diff(rate)) > 1e-6 * largest).sum())
    # A few jumps and nothing between them, or a rate that goes up again: steps.
    back_up = bool((np.diff(rate) > 0.05 * largest).any() and (np.diff(rate) < 0).any())
    if 0 < len(jumps) < MOST and (changes == len(jumps) or back_up):
        return [ends[0], *(float(x[at]) for at in jumps), ends[1]], "steps"
    quarters = np.linspace(ends[0], ends[1], QUARTERS + 1).tolist()
    return quarters, "falls" if rate[-1] < rate[0] else "rises"


def _configured(run: RunView) -> Series:
    """The setting's schedule, over what was done of the budget."""
    try:
        planned = parse_schedule(run.config["learning_rate"])
        budget = run.budget or run.env_steps
        if not budget > 0 or not run.env_steps > 0:
            return Series(np.empty(0), np.empty(0))
        x = np.linspace(0.0, run.env_steps, POINTS)
        values = [float(at(planned, min(1.0, step / budget))) for step in x.tolist()]
        return _finite(Series(x, np.array(values)))
    except (ConfigError, KeyError, TypeError, ValueError):
        return Series(np.empty(0), np.empty(0))


def _over(x: Array, rate: Array) -> float | None:
    """From where on the rate stays below a hundredth of its largest, if a tenth of the run or more
    comes after it."""
    above = np.flatnonzero(rate > OVER * float(rate.max()))
    if not len(above) or above[-1] >= len(x) - 1:
        return None
    over = float(x[above[-1] + 1])
    return over if x[-1] - over >= 0.1 * (x[-1] - x[0]) else None


def _gain(curve: Series, begin: float, end: float) -> float:
    if len(curve.values) < 5:
        return math.nan
    return _near(curve, end) - _near(curve, begin)


def _near(curve: Series, place: float) -> float:
    """The return about a place: the median of a few neighbours in env steps."""
    width = AROUND * float(curve.env_steps[-1] - curve.env_steps[0])
    near = np.abs(curve.env_steps - place) <= width
    if near.sum() < 3:
        near[np.argsort(np.abs(curve.env_steps - place), kind="stable")[:3]] = True
    return float(np.median(curve.values[near]))


def _finite(series: Series) -> Series:
    known = np.isfinite(series.values)
    return Series(series.env_steps[known], series.values[known])
