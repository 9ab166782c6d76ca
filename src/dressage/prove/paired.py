"""Runs that share their seeds: how far they are shifted, and whether a setting matters at all.

Sharing a seed gives two runs the same first weights and the same episodes' seeds, which helps while
their policies are alike, as under small changes they are. Pure functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dressage.math.summary import Float64s
from dressage.prove.permutation import mid_ranks

DRAWS = 20_000
FEWEST = 6  # pairs from which an interval can hold 95 %


class Shift(NamedTuple):
    """`level`: the share of cases that the interval covers, exactly, if differences are spread
    evenly about their centre."""

    value: float
    low: float
    high: float
    level: float


def paired_shift(differences: Float64s, level: float = 0.95) -> Shift:
    """The median of all means of two differences (Hodges and Lehmann 1963), with the interval that
    the signed-rank test does not refuse: exact for few pairs, and unmoved by one wild seed."""
    d = np.asarray(differences, np.float64).ravel()
    if not len(d) or not np.isfinite(d).all():
        raise ValueError("differences must be finite, and at least one")
    first, second = np.triu_indices(len(d))
    means = np.sort((d[first] + d[second]) / 2)
    tail = np.cumsum(_rank_sums(len(d))) / 2.0 ** len(d)  # P(W <= 0), P(W <= 1), …
    out = max(1, int((2 * tail <= 1 - level).sum()))  # means left out at each end, less one
    return Shift(
        float(np.median(means)),
        float(means[out - 1]),
        float(means[len(means) - out]),
        float(1 - 2 * tail[out - 1]),
    )


def _rank_sums(n: int) -> Float64s:
    """How many of the 2^n sets of the ranks 1 … n add up to 0, 1, 2, …"""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return ways


def blocks_differ(values: Float64s, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """p of "the columns are alike", for `[seeds, settings]`: ranks of what remains without each
    seed's mean (Hodges and Lehmann 1962), against swapping columns within seeds at random.

    One test for a setting and all its changes: exact, and unlike the signs of pairs it can reach
    a small p with eight seeds.
    """
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise ValueError(f"values have shape {table.shape}, expected finite [seeds, settings]")
    aligned = np.round(table - table.mean(axis=1, keepdims=True), 9)
    ranks = mid_ranks(aligned.ravel()).reshape(table.shape)
    drawn = rng.permuted(np.broadcast_to(ranks, (draws, *ranks.shape)), axis=2)
    seen = _spread(ranks[None])[0]
    extreme = int((_spread(drawn) >= seen - 1e-9).sum())
    return (extreme + 1) / (draws + 1)


def _spread(ranks: Float64s) -> Float64s:
    """How far the columns' mean ranks lie apart: [draws, seeds, settings] -> [draws]."""
    means = ranks.mean(axis=1)
    spread: Float64s = ((means - means.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return spread
