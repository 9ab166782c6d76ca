"""Clocks that go backwards: what was logged twice, restarted, or written out of order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dressage.runs.table import Array

RESTART = 0.05  # a clock that falls below this share of where it was began anew
MANY = 1000  # drops: then rows are simply out of order
SHORT = 2.3  # rows from drop to drop: rows in no order at all rise twice in a row on average
PASSES = 5  # over a clock, looking for strays
STRAY = 3.0  # times the usual interval that a clock jumps back after a stray row


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
    clock, strays = clock[keep], 0
    for _ in range(PASSES):  # leaving one out may show another
        drops = np.flatnonzero(np.diff(clock) < 0) + 1
        if len(drops) > MANY or not (found := _strays(clock, drops)):
            break
        keep, clock = np.delete(keep, found), np.delete(clock, found)
        strays += len(found)
    notes = [f"{strays} rows out of the order of env steps were left out."] if strays else []
    if not len(drops):
        return Straight(keep, clock, [], notes)
    if len(drops) > MANY or len(clock) < SHORT * (len(drops) + 1):
        order = np.argsort(clock, kind="stable")
        notes.append("The rows are not in the order of their env steps and were sorted.")
        return Straight(keep[order], clock[order], [], notes)
    straight = _by_parts(keep, clock, [0, *drops.tolist(), len(clock)])
    return straight._replace(notes=straight.notes + notes)


def _strays(clock: Array, drops: Array) -> list[int]:
    """Single rows and pairs after which the clock goes on from where it was before them."""
    rises = np.diff(clock)
    usual = float(np.median(rises[rises > 0])) if (rises > 0).any() else 0.0
    found: list[int] = []
    for begin in drops.tolist():
        top = clock[begin - 1]
        for end in (begin + 1, begin + 2):
            if (
                end < len(clock)
                and 0 <= clock[end] - top <= STRAY * usual < clock[end] - clock[end - 1]
            ):
                found += range(begin, end)
                break
    return found


def _by_parts(keep: Array, clock: Array, bounds: list[int]) -> Straight:
    stays = np.ones(len(clock), bool)
    shifted = clock.copy()
    first, offset, top = clock[0], 0.0, clock[bounds[1] - 1]
    restarts: list[float] = []
    overtaken = 0
    stretch = 0  # where the part since the last restart begins
    for at in range(1, len(bounds) - 1):
        begin, end = bounds[at], bounds[at + 1]
        value = clock[begin]
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
    kept = np.flatnonzero(stays)
    order = kept[np.argsort(shifted[kept], kind="stable")]
    return Straight(keep[order], shifted[order], restarts, notes)
