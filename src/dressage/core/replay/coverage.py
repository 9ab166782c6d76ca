"""How much of what a replay memory holds differs: distinct cells among observations spread over it.

A cell is a SimHash (Charikar 2002), as in count-based exploration (explore/counts.py): the signs of
projections of the observation, with an offset each. It tells memories apart where bins of equal
probability do not: of one that is at rest in 95 % of its steps, with noise of 1e-4 on CartPole's
sensors, 64 signs find 0.05 distinct, and eight bins for each number 0.86. Numbers are standardised,
so that units do not matter; one that only ever trembles then counts like any other.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.replay.ring import SLOTS, Ring
from dressage.core.rng import Rng

SAMPLE = 512  # transitions looked at
SIGNS = 64  # of a cell; one whole number has them all


def coverage(ring: Ring) -> float | None:
    """Distinct cells over transitions, of `SAMPLE` or of all; None where nothing is a vector."""
    parts = [
        name
        for name, column in ring.columns.items()
        if name.startswith("obs") and not name.endswith(SLOTS) and column.ndim == 3
    ]
    if not parts or not len(ring):
        return None
    held = len(ring) * ring.n_envs
    index = np.linspace(0, held - 1, min(SAMPLE, held)).astype(np.int64)
    row, env = ring.low + index // ring.n_envs, index % ring.n_envs
    obs = np.concatenate([ring.take(name, row, env) for name in parts], axis=1)
    return np.unique(cells(obs)).size / index.size


def cells(obs: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """`[B, D] -> [B]`: the cell of each, among observations such as these."""
    x = obs.astype(np.float64)
    deviation = x.std(0)
    x = (x - x.mean(0)) / np.where(deviation > 0, deviation, 1.0)
    projection, offset = _projections(x.shape[1])
    signs = x @ projection + offset > 0
    return np.packbits(signs, axis=1).view(np.uint64)[:, 0]


@functools.cache
def _projections(size: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """`[size, SIGNS]` and `[SIGNS]`: the same in every run, so that runs can be compared."""
    rng = Rng(0)
    projection = rng.normal("coverage/projection", (size, SIGNS)) / math.sqrt(size)
    return projection.astype(np.float64), rng.normal("coverage/offset", SIGNS).astype(np.float64)
