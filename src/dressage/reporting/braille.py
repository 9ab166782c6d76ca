"""A small learning curve in braille dots: each character is two dots wide and four high."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Points = Sequence[tuple[float, float]]
BLANK = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # [row][column] within a character
MARK, RULE = "•", "┈"


@dataclass(frozen=True)
class Frame:
    """What part of the plane is drawn, on how many characters."""

    right: float  # x runs from 0
    low: float
    high: float
    width: int
    height: int

    def column(self, x: float, per_character: int = 1) -> int:
        last = self.width * per_character - 1
        return min(last, max(0, round(x / self.right * last)))

    def row(self, y: float, per_character: int = 1) -> int:
        last = self.height * per_character - 1
        share = (y - self.low) / (self.high - self.low)
        return min(last, max(0, round((1.0 - share) * last)))


def frame_of(curves: Sequence[Points], right: float, width: int, height: int) -> Frame | None:
    """A frame around all finite points; None where there is nothing to draw."""
    values = [y for curve in curves for _, y in curve if math.isfinite(y)]
    if not values:
        return None
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    return Frame(max(right, 1e-9), low, high, width, height)


def draw(
    frame: Frame, line: Points, marks: Points = (), level: float | None = None
) -> list[list[tuple[str, str]]]:
    """Rows of (character, role), roles being line, mark, level and blank.

    `line` is joined, `marks` stand alone, `level` is a horizontal rule behind both.
    """
    dots = [[0] * frame.width for _ in range(frame.height)]
    for column, row in _stroke(frame, line):
        dots[row // 4][column // 2] |= DOTS[row % 4][column % 2]
    cells = [[(chr(BLANK + d), "line") if d else (" ", "blank") for d in row] for row in dots]
    if level is not None and frame.low <= level <= frame.high:
        at = frame.row(level)
        cells[at] = [(RULE, "level") if role == "blank" else (c, role) for c, role in cells[at]]
    for x, y in marks:
        if math.isfinite(y):
            cells[frame.row(y)][frame.column(x)] = (MARK, "mark")
    return cells


def _stroke(frame: Frame, line: Points) -> list[tuple[int, int]]:
    """The dots of a line: one mean a column, neighbours joined."""
    sums: dict[int, list[float]] = {}
    for x, y in line:
        if math.isfinite(y):
            entry = sums.setdefault(frame.column(x, 2), [0.0, 0])
            entry[0] += y
            entry[1] += 1
    means = [(at, frame.row(total / n, 4)) for at, (total, n) in sorted(sums.items())]
    found = means[:1]
    for (left, before), (right, after) in pairwise(means):
        steps = max(right - left, abs(after - before))
        found += [
            (left + round((right - left) * i / steps), before + round((after - before) * i / steps))
            for i in range(1, steps + 1)
        ]
    return found
