"""Env steps a second over the run, and where the time went."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dressage.diagnosis.look import part
from dressage.runs.view import RunView, Series

SPEED = "sys/env_steps_per_second"
TIMES = "sys/time/"
BLOCKS = 50  # of a speed that is derived from the clock


@dataclass(frozen=True)
class Throughput:
    source: str  # "as logged", "from the clock" or "not known"
    median: float  # env steps a second
    first: float  # median of the first fifth of the run
    last: float  # and of the last
    slowest: float  # the tenth percentile
    change: float  # last over first, less one
    wall_seconds: float
    time: dict[str, float]  # share of the time by what it was spent on, largest first


def throughput(run: RunView) -> Throughput:
    series, source = run[SPEED], "as logged"
    if SPEED in run and run.own_name(SPEED) == run.own_name("wall_seconds"):
        source = "from the clock"  # the reader has made it from the times
    if len(part(series)) < 2:
        series, source = from_clock(run["wall_seconds"]), "from the clock"
    values = part(series)
    wall = part(run["wall_seconds"])
    seconds = float(wall[-1]) if len(wall) else math.nan
    if not len(values):
        no = math.nan
        return Throughput("not known", no, no, no, no, no, seconds, _time(run))
    first, last = (float(np.median(v)) if len(v := part(series, *ends)) else math.nan
                   for ends in ((0.0, 0.2), (0.8, 1.0)))  # fmt: skip
    return Throughput(
        source=source,
        median=float(np.median(values)),
        first=first,
        last=last,
        slowest=float(np.quantile(values, 0.1)),
        change=last / first - 1.0 if first > 0 else math.nan,
        wall_seconds=seconds,
        time=_time(run),
    )


def from_clock(wall: Series) -> Series:
    """Env steps a second between places of equal distance, from times that only grow."""
    known = np.isfinite(wall.values)
    steps, seconds = wall.env_steps[known], wall.values[known]
    if len(steps) > BLOCKS:
        at = np.linspace(0, len(steps) - 1, BLOCKS + 1).round().astype(np.int64)
        steps, seconds = steps[at], seconds[at]
    if len(steps) < 3:
        return Series(np.empty(0), np.empty(0))
    took = np.diff(seconds)
    forward = took > 0
    return Series(steps[1:][forward], np.diff(steps)[forward] / took[forward])


def _time(run: RunView) -> dict[str, float]:
    sums = {
        name.removeprefix(TIMES): float(part(series).sum())
        for name, series in run.series.items()
        if name.startswith(TIMES)
    }
    total = sum(sums.values())
    if not total > 0:
        return {}
    ordered = sorted(sums.items(), key=lambda item: -item[1])
    return {name: seconds / total for name, seconds in ordered if seconds > 0}
