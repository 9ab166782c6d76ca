"""Env steps to the threshold as a censored quantity: a run that never reaches it is not dropped.

Such a run says only that it takes longer than its budget. Pure functions over `Times`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

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
    at = np.unique(np.concatenate((a.steps[a.reached], b.steps[b.reached])))
    surplus = variance = 0.0
    for step in at:
        n_a, n_b = int((a.steps >= step).sum()), int((b.steps >= step).sum())
        d_a = int(((a.steps == step) & a.reached).sum())
        d_b = int(((b.steps == step) & b.reached).sum())
        n, d = n_a + n_b, d_a + d_b
        surplus += d_b - d * n_b / n
        if n > 1:
            variance += d * (n_a / n) * (n_b / n) * (n - d) / (n - 1)
    return surplus / math.sqrt(variance) if variance > 0 else 0.0


def log_rank_test(a: Times, b: Times, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """Two-sided p by drawing the groups anew: right for a few seeds, unlike the normal curve."""
    seen = abs(log_rank(a, b))
    steps = np.concatenate((a.steps, b.steps))
    reached = np.concatenate((a.reached, b.reached))
    extreme = 0
    for _ in range(draws):
        order = rng.permutation(len(steps))
        first, second = order[: len(a.steps)], order[len(a.steps) :]
        z = log_rank(Times(steps[first], reached[first]), Times(steps[second], reached[second]))
        extreme += abs(z) >= seen - 1e-12
    return (extreme + 1) / (draws + 1)


def ratio_of_means(
    a: Times, b: Times, horizon: float, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float, float]:
    """b's restricted mean over a's, with a 95 % bootstrap interval: 0.7 is 30 % fewer steps."""

    def drawn(given: Times) -> Times:
        chosen = rng.integers(0, len(given.steps), size=len(given.steps))
        return Times(given.steps[chosen], given.reached[chosen])

    value = restricted_mean(b, horizon) / restricted_mean(a, horizon)
    if min(len(a.steps), len(b.steps)) < 2:
        return value, math.nan, math.nan
    ratios = [
        restricted_mean(drawn(b), horizon) / restricted_mean(drawn(a), horizon)
        for _ in range(draws)
    ]
    low, high = np.quantile(ratios, (0.025, 0.975))
    return value, float(low), float(high)
