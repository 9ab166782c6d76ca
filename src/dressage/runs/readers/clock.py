"""Clocks that go backwards: what was logged twice, restarted, or written out of order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dressage.runs.table import Array

RESTART = 0.05  # a clock that falls below this share of where it was began anew
MANY = 1000  # drops: then rows are simply out of order


class Straight(NamedTuple):
    keep: Array  # int64 [K], the rows that stay, in their new order
    clock: Array  # float64 [K], which never falls
    restarts: list[float]  # where it began anew
    notes: list[str]


def straighten(clock: Array) -> Straight:
    """Three ways a clock `[T]` falls, told apart by where it falls to:

    to its beginning: a new run in the same log (SB3's `learn` called again), which continues the
    old one; a little: a resume from a checkpoint, whose rows replace what they overtake; for a row
    or two: strays, which are left out. Rows without a clock are left out too.
    """
    keep = np.flatnonzero(np.isfinite(clock))
    clock = clock[keep]
    drops = np.flatnonzero(np.diff(clock) < 0) + 1
    if not len(drops):
        return Straight(keep, clock, [], [])
    if len(drops) > MANY or len(drops) > len(clock) // 4:
        order = np.argsort(clock, kind="stable")
        note = "The rows are not in the order of their env steps and were sorted."
        return Straight(keep[order], clock[order], [], [note])
    return _by_parts(keep, clock, [0, *drops.tolist(), len(clock)])


def _by_parts(keep: Array, clock: Array, bounds: list[int]) -> Straight:
    stays = np.ones(len(clock), bool)
    shifted = clock.copy()
    first, offset, top = clock[0], 0.0, clock[bounds[1] - 1]
    restarts: list[float] = []
    strays = overtaken = 0
    stretch = 0  # where the part since the last restart begins
    for at in range(1, len(bounds) - 1):
        begin, end = bounds[at], bounds[at + 1]
        value, after = clock[begin], clock[end] if end < len(clock) else None
        if end - begin <= 2 and after is not None and (clock[end:] >= top).all():
            stays[begin:end] = False
            strays += end - begin
            continue
        if value <= max(2 * first, RESTART * top) and top > value:
            offset += top
            restarts.append(float(offset))
            stretch = begin
        else:
            replaced = stays[stretch:begin] & (clock[stretch:begin] >= value)
            stays[stretch:begin] &= ~replaced
            overtaken += int(replaced.sum())
        shifted[begin:] = clock[begin:] + offset
        top = clock[end - 1]
    notes = []
    if restarts:
        notes.append(
            f"The count of env steps began anew {len(restarts)} times, first at {restarts[0]:g}: "
            "the parts were joined. A second call of learn() does this, and so do two runs in "
            "one log."
        )
    if overtaken:
        notes.append(f"{overtaken} rows were logged again after a resume; the later ones count.")
    if strays:
        notes.append(f"{strays} rows out of the order of env steps were left out.")
    kept = np.flatnonzero(stays)
    order = kept[np.argsort(shifted[kept], kind="stable")]
    return Straight(keep[order], shifted[order], restarts, notes)
