"""Phases of the learning curve: flat, rising, plateau, falling, and where one turns into the next.

The curve, as means of equal parts of the run, is cut into straight pieces so that

    sum of squared residuals + PENALTY * noise^2 * log(n) * (pieces - 1)

is smallest (least squares with a penalty for each change point; Bai and Perron 1998 for the exact
search by dynamic programming). The noise is that of neighbours' second differences, by their
median, so that neither the trend nor a jump counts as noise. A piece rises or falls if its line
changes by more than a tenth of the curve's range; neighbours of one kind are one phase.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from dressage.runs.table import Array
from dressage.runs.view import Series

Kind = Literal["flat", "rising", "plateau", "falling"]
PARTS = 60  # means that the curve is reduced to
SHORTEST = 4  # of these, that a piece has at least
MOST = 6  # pieces
PENALTY = 6.0  # for each change point, two parameters and a place; a guess
CLEAR = 0.1  # share of the curve's range that a rise or fall is at least
FEWEST = 8  # values below which nothing is said


@dataclass(frozen=True)
class Phase:
    kind: Kind  # flat: before anything was learned; plateau: after it
    begin: float  # env steps
    end: float
    first: float  # return where it begins and ends, by its fitted line, within what was measured
    last: float

    @property
    def gain(self) -> float:
        return self.last - self.first


def phases(curve: Series, floor: float = 0.0) -> list[Phase]:
    """The phases in order; none where there are too few values.

    `floor`: a change below it is no change (half the deviation of single episodes, say).
    """
    x, y = means(curve)
    if len(x) < FEWEST:
        return []
    ends = change_points(y)
    ordered = np.sort(y)
    tenth = max(1, len(y) // 20)
    clear = max(CLEAR * float(ordered[-tenth] - ordered[tenth - 1]), floor)
    parts = [y[begin:end] for begin, end in pairwise([0, *ends, len(y)])]
    start = _line(parts[0])[0]
    edge = [float(curve.env_steps[0]), *(float(x[at - 1] + x[at]) / 2 for at in ends)]
    edge.append(float(curve.env_steps[-1]))
    made: list[Phase] = []
    for i, values in enumerate(parts):
        first, last = _line(values)
        gain = last - first
        moved = any(phase.kind in ("rising", "falling") for phase in made)
        if made and made[-1].kind != "rising" and abs(first - start) > 2 * clear:
            moved = True  # a jump between two level pieces
        kind: Kind = "plateau" if moved else "flat"
        if abs(gain) > clear:
            kind = "rising" if gain > 0 else "falling"
        # A line through a bend ends above what any episode can earn: 503 of 500 in CartPole.
        first, last = np.clip((first, last), values.min(), values.max()).tolist()
        if made and made[-1].kind == kind:
            made[-1] = Phase(kind, made[-1].begin, edge[i + 1], made[-1].first, last)
        else:
            made.append(Phase(kind, edge[i], edge[i + 1], first, last))
    return made


def means(curve: Series, parts: int = PARTS) -> tuple[Array, Array]:
    """A curve as means over equal stretches of env steps, those without a value left out."""
    known = np.isfinite(curve.values) & np.isfinite(curve.env_steps)
    x, y = curve.env_steps[known], curve.values[known]
    if len(x) <= parts:
        return x, y
    span = float(x[-1] - x[0])
    if not span > 0:
        return x[:0], y[:0]
    at = np.minimum(((x - x[0]) / span * parts).astype(np.int64), parts - 1)
    count = np.bincount(at, minlength=parts)
    filled = count > 0
    return tuple(  # type: ignore[return-value]
        np.bincount(at, values, parts)[filled] / count[filled] for values in (x, y)
    )


def change_points(y: Array) -> list[int]:
    """Where a new straight piece begins."""
    n = len(y)
    scale = float(np.ptp(y)) or 1.0
    cost = _residuals(y)
    bends = np.abs(np.diff(y, 2))
    # The deviation of x[t-1] - 2 x[t] + x[t+1] is sqrt(6) times that of x.
    noise = float(np.median(bends)) / (0.6745 * math.sqrt(6.0))
    penalty = PENALTY * max(noise, 1e-4 * scale) ** 2 * math.log(n)
    best = cost[0].copy()  # of the first j values, in one piece
    cuts: list[list[list[int]]] = [[[] for _ in range(n + 1)]]
    whole: list[tuple[float, list[int]]] = [(float(best[n]), [])]
    for pieces in range(2, MOST + 1):
        new = np.full(n + 1, np.inf)
        where: list[list[int]] = [[] for _ in range(n + 1)]
        for j in range(pieces * SHORTEST, n + 1):
            begins = np.arange((pieces - 1) * SHORTEST, j - SHORTEST + 1)
            totals = best[begins] + cost[begins, j]
            at = int(totals.argmin())
            new[j], where[j] = totals[at], [*cuts[-1][int(begins[at])], int(begins[at])]
        if not np.isfinite(new[n]):
            break
        best = new
        cuts.append(where)
        whole.append((float(best[n]) + penalty * (pieces - 1), where[n]))
    return min(whole, key=lambda pair: pair[0])[1]


def _residuals(y: Array) -> Array:
    """Squared residuals of the best line through y[i:j], at [i, j]; infinite below `SHORTEST`."""
    n = len(y)
    y = y - y.mean()
    t = np.arange(n, dtype=np.float64)
    sums = [np.concatenate([[0.0], np.cumsum(v)]) for v in (y, t, y * y, t * t, t * y)]
    count = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    size = np.maximum(count, 1)
    s_y, s_t, s_yy, s_tt, s_ty = (s[None, :] - s[:, None] for s in sums)
    var_t = s_tt - s_t * s_t / size
    var_y = s_yy - s_y * s_y / size
    both = s_ty - s_t * s_y / size
    slope = np.divide(both, var_t, out=np.zeros_like(both), where=var_t > 1e-12)
    return np.where(count >= SHORTEST, np.maximum(var_y - slope * both, 0.0), np.inf)


def _line(y: Array) -> tuple[float, float]:
    """The first and last value of the best line."""
    t = np.arange(len(y), dtype=np.float64)
    t -= t.mean()
    slope = float((t * y).sum() / max(float((t * t).sum()), 1e-12))
    middle = float(y.mean())
    return middle + slope * float(t[0]), middle + slope * float(t[-1])
