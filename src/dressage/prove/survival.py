"""Env steps to the threshold as a censored quantity: a run that never reaches it is not dropped.

Such a run says only that it takes longer than its budget. Pure functions over `Times`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dressage.math.summary import Float64s

DRAWS = 2000


class Times(NamedTuple):
    """`steps`: env steps to the threshold, or to the end of a run that never reached it."""

    steps: Float64s  # [n]
    reached: np.ndarray[tuple[int], np.dtype[np.bool_]]  # [n]


def times(steps: list[float | None], budgets: list[float]) -> Times:
    """From what each run took, None where it never reached it, and how long each ran."""
    taken = [b if s is None else s for s, b in zip(steps, budgets, strict=True)]
    return Times(np.array(taken, float), np.array([s is not None for s in steps]))


def kaplan_meier(given: Times) -> tuple[Float64s, Float64s]:
    """Where the share of runs that are still below the threshold falls, and to what."""
    at = np.unique(given.steps[given.reached])
    left, shares = 1.0, []
    for step in at:
        running = int((given.steps >= step).sum())
        left *= 1.0 - int(((given.steps == step) & given.reached).sum()) / running
        shares.append(left)
    return at, np.array(shares)


def restricted_mean(given: Times, horizon: float) -> float:
    """Mean env steps to the threshold, none counting for more than the horizon: the area under
    Kaplan and Meier's curve (Royston and Parmar 2013)."""
    at, shares = kaplan_meier(given)
    inside = at < horizon
    edges = np.concatenate(([0.0], at[inside], [horizon]))
    levels = np.concatenate(([1.0], shares[inside]))
    return float((np.diff(edges) * levels).sum())


def log_rank(a: Times, b: Times) -> float:
    """Z of the log-rank test; above zero where b reaches the threshold sooner."""
    of_b = np.arange(len(a.steps) + len(b.steps)) >= len(a.steps)
    return float(_log_ranks(_joined(a, b), of_b[None])[0])


def log_rank_test(a: Times, b: Times, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """Two-sided p by drawing the groups anew: right for a few seeds, unlike the normal curve."""
    both, size = _joined(a, b), len(a.steps) + len(b.steps)
    of_b = np.arange(size) >= len(a.steps)
    drawn = rng.permuted(np.broadcast_to(of_b, (draws, size)), axis=1)
    seen = abs(float(_log_ranks(both, of_b[None])[0]))
    extreme = int((np.abs(_log_ranks(both, drawn)) >= seen - 1e-12).sum())
    return (extreme + 1) / (draws + 1)


def _joined(a: Times, b: Times) -> Times:
    return Times(np.concatenate((a.steps, b.steps)), np.concatenate((a.reached, b.reached)))


def _log_ranks(both: Times, of_b: np.ndarray[Any, np.dtype[np.bool_]]) -> Float64s:
    """Z for each way to say which runs are b's: [ways, runs] -> [ways]."""
    members = of_b.astype(np.float64)
    surplus, variance = np.zeros(len(members)), np.zeros(len(members))
    for step in np.unique(both.steps[both.reached]):
        running = both.steps >= step
        ends = (both.steps == step) & both.reached
        n, d = int(running.sum()), int(ends.sum())
        n_b, d_b = members @ running, members @ ends
        surplus += d_b - d * n_b / n
        if n > 1:
            variance += d * (n_b / n) * (1 - n_b / n) * (n - d) / (n - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        z: Float64s = np.where(variance > 0, surplus / np.sqrt(variance), 0.0)
    return z


def ratio_of_means(
    a: Times, b: Times, horizon: float, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float, float]:
    """b's restricted mean over a's, with a 95 % bootstrap interval: 0.7 is 30 % fewer steps."""
    value = restricted_mean(b, horizon) / restricted_mean(a, horizon)
    if min(len(a.steps), len(b.steps)) < 2:
        return value, math.nan, math.nan
    drawn = [_drawn_means(given, horizon, rng, draws) for given in (a, b)]
    low, high = np.quantile(drawn[1] / drawn[0], (0.025, 0.975))
    return value, float(low), float(high)


def _drawn_means(given: Times, horizon: float, rng: np.random.Generator, draws: int) -> Float64s:
    """Restricted means of bootstrap samples."""
    chosen = rng.integers(0, len(given.steps), size=(draws, len(given.steps)))
    if (given.reached | (given.steps >= horizon)).all():  # none is lost before the horizon
        means: Float64s = np.minimum(given.steps, horizon)[chosen].mean(axis=1)
        return means
    samples = (Times(given.steps[row], given.reached[row]) for row in chosen)
    return np.array([restricted_mean(sample, horizon) for sample in samples])
