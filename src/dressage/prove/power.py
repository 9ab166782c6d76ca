"""How many seeds would settle it, if the groups are as they look so far."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

from dressage.math.summary import Float64s
from dressage.prove.permutation import mid_ranks

DRAWS = 200
MOST = 200  # seeds a side


def power(
    a: Float64s, b: Float64s, seeds: int, rng: np.random.Generator, alpha: float = 0.05
) -> float:
    """Share of comparisons of so many seeds a side, drawn from these, that would reach alpha."""
    found = 0
    for _ in range(DRAWS):
        drawn_a = a[rng.integers(0, len(a), seeds)]
        drawn_b = b[rng.integers(0, len(b), seeds)]
        found += rank_sum_p(drawn_a, drawn_b) <= alpha
    return found / DRAWS


def seeds_needed(
    a: Float64s,
    b: Float64s,
    rng: np.random.Generator,
    wanted: float = 0.8,
    alpha: float = 0.05,
) -> int | None:
    """The fewest seeds a side with the wanted power; None where `MOST` would not do."""
    low, high = 4, 8
    while power(a, b, high, rng, alpha) < wanted:
        low, high = high, 2 * high
        if low >= MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if power(a, b, middle, rng, alpha) >= wanted:
            high = middle
        else:
            low = middle
    return high


def rank_sum_p(a: Float64s, b: Float64s) -> float:
    """Two-sided p of the rank sum by the normal curve, with ties and continuity; thousands of
    these are needed, and only on average."""
    n, m = len(a), len(b)
    values = np.concatenate((a, b))
    ranks = mid_ranks(values)
    _, counts = np.unique(values, return_counts=True)
    total = n + m
    ties = float((counts**3 - counts).sum()) / (total * (total - 1))
    variance = n * m / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0
    distance = abs(float(ranks[n:].sum()) - m * (total + 1) / 2) - 0.5
    return float(erfc(max(distance, 0.0) / sqrt(2 * variance)))
