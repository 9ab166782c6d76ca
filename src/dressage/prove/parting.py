"""Where two groups of curves part, and which metric moved first. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dressage.math.summary import Float64s
from dressage.prove.measures import RETURN, on_one_axis
from dressage.runs.metrics import is_exact
from dressage.runs.view import RunView

APART = 3.0  # pooled deviations of the mean, from there to the end of a stretch
STRETCH = 0.1  # of the axis, over which they must stay apart
NEVER_FIRST = ("train/roll/ep_rew", "train/roll/ep_len", "train/roll/return", "val/", "train/cnt/")


@dataclass(frozen=True)
class Parting:
    """Of the returns, and of the metrics that parted before them, first ones first."""

    env_steps: float | None  # None: they never part
    before: list[tuple[str, float]]  # metric, env steps


def parting(a: Sequence[RunView], b: Sequence[RunView], end: float) -> Parting:
    at = metric_parts(a, b, RETURN, end)
    found = []
    for name in sorted(set(a[0].series) & set(b[0].series)):
        if name.startswith(NEVER_FIRST) or name.startswith("train/hp/") or not is_exact(name):
            continue
        place = metric_parts(a, b, name, end)
        if place is not None and (at is None or place <= at):
            found.append((name, place))
    return Parting(at, sorted(found, key=lambda item: item[1]))


def metric_parts(
    a: Sequence[RunView], b: Sequence[RunView], metric: str, end: float
) -> float | None:
    """Env steps from which the means stay apart for a stretch; None where they never do.

    With a single run a side the deviation between neighbours in time stands for that of seeds.
    """
    grid, rows_a = on_one_axis(a, metric, end)
    _, rows_b = on_one_axis(b, metric, end)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(_mean(rows_b) - _mean(rows_a))
        apart = gap > APART * np.sqrt(_error(rows_a) ** 2 + _error(rows_b) ** 2) + 1e-12
    stretch = max(2, int(STRETCH * len(grid)))
    running = 0
    for place, is_apart in enumerate(apart):
        running = running + 1 if is_apart else 0
        if running == stretch:
            return float(grid[place - stretch + 1])
    return None


def _mean(rows: Float64s) -> Float64s:
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    mean: Float64s = np.where(known, rows, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
    return mean


def _error(rows: Float64s) -> Float64s:
    """Deviation of the mean at each place."""
    if len(rows) > 1:
        known = np.isfinite(rows)
        count = known.sum(axis=0)
        squares = np.where(known, (rows - _mean(rows)) ** 2, 0.0).sum(axis=0)
        spread: Float64s = np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1))
        return np.where(count > 1, spread, np.nan)
    steps = np.diff(rows[0])
    known_steps = steps[np.isfinite(steps)]
    noise = float(np.median(np.abs(known_steps))) * 1.4826 if len(known_steps) else math.nan
    return np.full(rows.shape[1], noise)
