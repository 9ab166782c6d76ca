"""Two groups of seeds: which is better, how surely, and by how much. Pure functions.

No scipy: a comparison must open at once (importing scipy.stats takes most of a second).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dressage.math.summary import Float64s

EXACT = 120  # seeds in all up to which every split is counted
DRAWS = 20_000  # splits drawn beyond that


class Compared(NamedTuple):
    """`better`: probability that a run of b beats one of a, ties counting half."""

    better: float
    p: float  # two-sided, of "both groups are alike"
    exact: bool  # every split of the seeds was counted


def probability_of_improvement(a: Float64s, b: Float64s) -> float:
    """P(b > a) + P(b = a) / 2 over all pairs (Agarwal et al. 2021, section 4.3)."""
    a, b = _groups(a, b)
    above = (b[:, None] > a).sum() + 0.5 * (b[:, None] == a).sum()
    return float(above) / (len(a) * len(b))


def permutation_test(a: Float64s, b: Float64s, rng: np.random.Generator) -> Compared:
    """Whether b's values differ from a's: the rank sum against all ways to split the seeds.

    By ranks, since returns over seeds are skewed and often have two modes; exact however few seeds
    there are and however many tie. Unpaired: sharing seeds hardly correlates runs.
    """
    a, b = _groups(a, b)
    # Twice the ranks, which are whole numbers whatever ties.
    ranks = np.rint(2 * mid_ranks(np.concatenate((a, b)))).astype(np.int64)
    n, m = len(a), len(b)
    centre = m * (n + m + 1)
    seen = abs(int(ranks[n:].sum()) - centre)
    exact = n + m <= EXACT
    if exact:
        ways = splits(ranks, m)
        p = float(ways[np.abs(np.arange(len(ways)) - centre) >= seen].sum() / ways.sum())
    else:  # one that was drawn is the one that was seen: none is ever called impossible
        chosen = np.argsort(rng.random((DRAWS, n + m)), axis=1)[:, :m]
        extreme = int((np.abs(ranks[chosen].sum(axis=1) - centre) >= seen).sum())
        p = (extreme + 1) / (DRAWS + 1)
    return Compared(probability_of_improvement(a, b), p, exact)


def splits(ranks: np.ndarray[Any, np.dtype[np.int64]], m: int) -> Float64s:
    """How many of the ways to choose m of the ranks add up to 0, 1, 2, …"""
    ways = np.zeros((m + 1, int(np.sort(ranks)[len(ranks) - m :].sum()) + 1))
    ways[0, 0] = 1.0
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    of_all: Float64s = ways[m]
    return of_all


def mid_ranks(values: Float64s) -> Float64s:
    """Ranks from one; equal values share the mean of theirs."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1.0, len(values) + 1)
    for value in np.unique(values):
        same = values == value
        ranks[same] = ranks[same].mean()
    return ranks


def cliffs_delta(a: Float64s, b: Float64s) -> float:
    """P(b > a) - P(b < a), from -1 to 1 (Cliff 1993)."""
    return 2.0 * probability_of_improvement(a, b) - 1.0


def size_in_words(delta: float) -> str:
    """By the bounds of Romano et al. 2006: 0.147, 0.33, 0.474."""
    size = abs(delta)
    for bound, word in ((0.147, "negligible"), (0.33, "small"), (0.474, "medium")):
        if size < bound:
            return word
    return "large"


def hedges_g(a: Float64s, b: Float64s) -> float:
    """Difference of means in pooled deviations, corrected for small groups (Hedges 1981)."""
    a, b = _groups(a, b)
    freedom = len(a) + len(b) - 2
    if freedom < 1:
        return math.nan
    squares = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
    deviation = math.sqrt(float(squares) / freedom)
    if deviation == 0.0:
        return math.nan if a.mean() == b.mean() else math.copysign(math.inf, b.mean() - a.mean())
    return float((b.mean() - a.mean()) / deviation * (1 - 3 / (4 * freedom - 1)))


def holm(p_values: list[float]) -> list[float]:
    """Adjusted for their number, in the order given (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def _groups(a: Float64s, b: Float64s) -> tuple[Float64s, Float64s]:
    a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
    if not len(a) or not len(b):
        raise ValueError("both groups need at least one value")
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("a value is not a number: a run without a return cannot be ranked")
    return a, b
