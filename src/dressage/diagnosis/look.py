"""How rules look at a series: parts of the run, medians, trends; robust, and pure."""

from __future__ import annotations

import math

import numpy as np

from dressage.math.summary import mann_kendall, theil_sen_slope
from dressage.runs.table import Array
from dressage.runs.view import RunView, Series

FEWEST = 5  # measured cells below which nothing is said


def part(series: Series, begin: float = 0.0, end: float = 1.0) -> Array:
    """The finite values measured between two shares of the run, by env steps."""
    if not series:
        return np.empty(0)
    first, last = series.env_steps[0], series.env_steps[-1]
    at = (series.env_steps - first) / max(last - first, 1.0)
    values: Array = series.values[(at >= begin) & (at <= end) & np.isfinite(series.values)]
    return values


def median(series: Series, begin: float = 0.0, end: float = 1.0) -> float:
    """NaN where fewer than `FEWEST` values are known."""
    values = part(series, begin, end)
    return float(np.median(values)) if len(values) >= FEWEST else math.nan


def share_above(series: Series, bound: float, begin: float = 0.0, end: float = 1.0) -> float:
    """Share of the values above a bound; NaN where too few are known."""
    values = part(series, begin, end)
    return float((values > bound).mean()) if len(values) >= FEWEST else math.nan


def rises(series: Series, begin: float = 0.0, end: float = 1.0, p: float = 0.01) -> bool:
    """Whether a part of the run has a rising trend (Mann-Kendall)."""
    values = thinned(part(series, begin, end))
    if len(values) < FEWEST:
        return False
    test = mann_kendall(values)
    return test.z > 0 and test.p < p


def slope(series: Series, begin: float = 0.0, end: float = 1.0) -> float:
    """Change over the whole part, by Theil and Sen's slope."""
    values = thinned(part(series, begin, end))
    return theil_sen_slope(values) * (len(values) - 1) if len(values) >= FEWEST else math.nan


def thinned(values: Array, most: int = 200) -> Array:
    """Neighbours share episodes, and tests of trend take values to be independent: means of blocks
    are nearer to that, and cheaper."""
    if len(values) <= most:
        return values
    return np.array([block.mean() for block in np.array_split(values, most)])


def returns(run: RunView) -> Series:
    """The run's return over time: of training, or of evaluations where that is all there is."""
    training = run["train/roll/ep_rew_mean"]
    return training if training else run["val/roll/ep_rew_mean"]


def early_spread(run: RunView) -> float:
    """Deviation of single episodes' returns in the first fifth of the run; where those are not
    known, twice that of the logged means."""
    deviation = part(run["train/roll/ep_rew_std"], 0.0, 0.2)
    if len(deviation):
        return float(np.median(deviation))
    if len(run.episodes.returns) >= 10 * FEWEST:
        first = run.episodes.returns[: len(run.episodes.returns) // 5]
        return float(np.std(first[np.isfinite(first)]))
    return 2.0 * float(np.std(part(returns(run), 0.0, 0.2)))


def learned(run: RunView) -> bool:
    """Whether the return ended clearly above where it began, and near its best."""
    series = returns(run)
    values = part(series)
    early, late = median(series, 0.0, 0.15), median(series, 0.8, 1.0)
    if math.isnan(early) or math.isnan(late):
        return False
    rise = late - early
    return rise > early_spread(run) and rise > 0.5 * (float(values.max()) - early) and rises(series)
