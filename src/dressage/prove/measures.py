"""What a run is compared by: its last return, its area, its env steps to a threshold; and several
runs on one axis. Pure functions over views."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dressage.diagnosis.look import returns
from dressage.math.summary import Float64s
from dressage.prove.survival import Times, times
from dressage.runs.view import RunView, Series

RETURN = "train/roll/ep_rew_mean"
LATE = 0.9  # of a run: where its last return is taken from
GRID = 200  # places of a common axis
ENOUGH = 0.25  # of all runs, of whichever side: the choice must not depend on which is which


def return_series(run: RunView) -> Series:
    """Of training; of evaluations where that is all there is; what is no number left out."""
    return finite(returns(run))


def finite(series: Series) -> Series:
    known = np.isfinite(series.values)
    return Series(series.env_steps[known], series.values[known])


def final_return(run: RunView) -> float:
    """Mean over the last tenth of the run; NaN where nothing was measured."""
    series = return_series(run)
    if not series:
        return math.nan
    late = series.env_steps >= LATE * series.env_steps[-1]
    return float(series.values[late].mean())


def wall_seconds(run: RunView) -> float:
    """How long it took; NaN where that was not logged."""
    series = run["wall_seconds"]
    return float(series.values[-1]) if series else float("nan")


def area(run: RunView, end: float) -> float:
    """Mean return over the env steps up to `end`: how good, how soon, in one number. What was not
    measured yet counts as the first value; a run that ended before keeps its last."""
    series = return_series(run)
    if not series or end <= 0:
        return math.nan
    inside = series.env_steps < end
    x = np.concatenate(([0.0], series.env_steps[inside], [end]))
    y = np.concatenate(
        (
            series.values[:1],
            series.values[inside],
            [float(np.interp(end, series.env_steps, series.values))],
        )
    )
    return float(np.trapezoid(y, x) / end)


def steps_to(run: RunView, threshold: float) -> float | None:
    """Env steps at which the return first is at the threshold; None where it never is."""
    series = return_series(run)
    there = np.flatnonzero(series.values >= threshold)
    return float(series.env_steps[there[0]]) if len(there) else None


def times_to(runs: Sequence[RunView], threshold: float) -> Times:
    """Env steps to the threshold of several runs; one that never reached it is censored."""
    ends = [float(return_series(run).env_steps[-1]) for run in runs]
    return times([steps_to(run, threshold) for run in runs], ends)


def solved_at(sides: Sequence[Sequence[RunView]], given: float | None = None) -> tuple[float, str]:
    """The return that counts as solved, and where it comes from: as asked for; the environment's
    where a quarter of all runs reach it (fewer would leave hardly anything to compare); else nine
    tenths of the way that the better side came."""
    if given is not None:
        return given, "as asked for"
    every = [run for side in sides for run in side if return_series(run)]
    known = next((run.threshold for run in every if run.threshold is not None), None)
    reached = 0 if known is None else sum(steps_to(run, known) is not None for run in every)
    if known is not None and reached >= ENOUGH * len(every):
        return float(known), "the environment's"
    start = float(np.median([return_series(run).values[0] for run in every]))
    ends = [[final_return(run) for run in side if return_series(run)] for side in sides]
    rise = max(float(np.median(side)) for side in ends) - start
    if rise <= 0:
        return start, "where the runs began: no side improved"
    few = f"{reached} of {len(every)} runs" if reached else "none"
    missed = "" if known is None else f"; {few} reached the environment's {known:g}"
    return start + 0.9 * rise, f"nine tenths of the way that the better side came{missed}"


def common_end(runs: Sequence[RunView]) -> float:
    """Env steps that all of them reach."""
    ends = [float(series.env_steps[-1]) for run in runs if (series := return_series(run))]
    return min(ends, default=0.0)


def on_one_axis(runs: Sequence[RunView], metric: str, end: float) -> tuple[Float64s, Float64s]:
    """A metric of several runs at the same env steps: [GRID], [runs, GRID]; NaN where a run has
    not begun to measure it."""
    grid = np.linspace(end / GRID, end, GRID)
    rows = np.full((len(runs), GRID), np.nan)
    for row, run in zip(rows, runs, strict=True):
        series = return_series(run) if metric == RETURN else finite(run[metric])
        if series:
            row[:] = np.interp(grid, series.env_steps, series.values, left=np.nan)
    return grid, rows
