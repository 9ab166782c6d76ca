"""Estimates over (runs x tasks) with intervals: aggregates, differences, profiles. Pure functions.

Runs are drawn anew within each task (stratified, Agarwal et al. 2021, section 4.1); tasks are not,
since they are the ones that were chosen. Intervals are percentiles that were expanded for the few
runs there are; how often they hold the truth was simulated (`coverage.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dressage.math.summary import Float64s, expanded_percentiles, interquartile_mean
from dressage.prove.permutation import probability_of_improvement

DRAWS = 2000
Statistic = Callable[..., Any]  # (values [..., n], axis=-1) -> [...]


class Estimate(NamedTuple):
    value: float
    low: float
    high: float


def aggregate(
    tasks: Sequence[Float64s],
    rng: np.random.Generator,
    statistic: Statistic = interquartile_mean,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate:
    """A statistic over all tasks' runs together, with its stratified bootstrap interval."""
    value = float(statistic(np.concatenate(tasks), axis=-1))
    fewest = min(len(task) for task in tasks)
    if fewest < 2:
        return Estimate(value, np.nan, np.nan)
    pooled = np.concatenate([_resampled(task, draws, rng) for task in tasks], axis=-1)
    drawn = np.asarray(statistic(pooled, axis=-1))
    return Estimate(value, *_quantiles(drawn, expanded_percentiles(level, fewest)))


def difference(
    a: Float64s,
    b: Float64s,
    rng: np.random.Generator,
    statistic: Statistic = interquartile_mean,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate:
    """b's statistic less a's, each group drawn anew."""
    value = float(statistic(b, axis=-1)) - float(statistic(a, axis=-1))
    if min(len(a), len(b)) < 2:
        return Estimate(value, np.nan, np.nan)
    drawn = np.asarray(statistic(_resampled(b, draws, rng), axis=-1)) - np.asarray(
        statistic(_resampled(a, draws, rng), axis=-1)
    )
    return Estimate(value, *_quantiles(drawn, _of_two(level, min(len(a), len(b)))))


def improvement(
    a: Float64s, b: Float64s, rng: np.random.Generator, level: float = 0.95, draws: int = DRAWS
) -> Estimate:
    """Probability that a run of b beats one of a, with its interval."""
    drawn_a, drawn_b = _resampled(a, draws, rng), _resampled(b, draws, rng)
    above = (drawn_b[:, :, None] > drawn_a[:, None, :]).mean(axis=(1, 2))
    ties = (drawn_b[:, :, None] == drawn_a[:, None, :]).mean(axis=(1, 2))
    value = probability_of_improvement(a, b)
    if min(len(a), len(b)) < 2:
        return Estimate(value, np.nan, np.nan)
    percentiles = _of_two(level, min(len(a), len(b)))
    return Estimate(value, *_quantiles(above + 0.5 * ties, percentiles))


def profile(
    values: Float64s, thresholds: Float64s, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[Float64s, Float64s, Float64s]:
    """Share of runs at or above each threshold, with a pointwise 95 % interval."""
    share: Float64s = (values[:, None] >= thresholds).mean(axis=0)
    drawn = (_resampled(values, draws, rng)[:, :, None] >= thresholds).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return share, low, high


def _resampled(values: Float64s, draws: int, rng: np.random.Generator) -> Float64s:
    chosen: Float64s = values[rng.integers(0, len(values), size=(draws, len(values)))]
    return chosen


def _of_two(level: float, n: int) -> tuple[float, float]:
    """Percentiles of what two groups make together: its law is nearer to the normal one, so only
    the resamples' too small variance is undone."""
    tail = NormalDist().cdf(math.sqrt(n / (n - 1)) * NormalDist().inv_cdf((1 - level) / 2))
    return tail, 1.0 - tail


def _quantiles(drawn: Float64s, percentiles: tuple[float, float]) -> tuple[float, float]:
    low, high = np.quantile(drawn, percentiles)
    return float(low), float(high)
