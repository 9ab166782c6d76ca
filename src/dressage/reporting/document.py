"""What a report says, before it is Markdown, HTML or text: sections of tables, charts, sentences.

Strings in here are plain text: each renderer escapes them its own way, so that nothing which a run
contains can become markup. `Code` marks what is to be typed or is spelled exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Code(str):
    """A name, a command or a value, shown as it is spelled."""

    __slots__ = ()


class Strong(str):
    """A word that the eye should find."""

    __slots__ = ()


# Words that are coloured wherever they are a cell or marked as strong.
TONES = {
    "critical": "bad",
    "high": "bad",
    "medium": "warn",
    "low": "quiet",
    "faulty": "bad",
    "undertrained": "warn",
    "cannot tell": "warn",
    "healthy": "good",
}


class Spark(str):
    """A course in block characters; the page draws `values` instead."""

    values: list[float]

    def __new__(cls, text: str, values: list[float]) -> Spark:
        made = super().__new__(cls, text)
        made.values = values
        return made


# A sentence in pieces: ("Resume it with ", Code("dressage train --resume X"), ".").
Words = str | tuple[str, ...]


@dataclass(frozen=True)
class Paragraph:
    words: Words
    quiet: bool = False


@dataclass(frozen=True)
class Heading:
    """Of a part of a section."""

    words: Words


@dataclass(frozen=True)
class Bullets:
    items: Sequence[Words]


@dataclass(frozen=True)
class Tile:
    """One number that matters, with what it is and what qualifies it."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Tiles:
    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[Words]]
    numeric: Sequence[int] = ()  # columns to align at the right
    narrow: Sequence[int] | None = None  # columns that a terminal shows; None: all of them


@dataclass(frozen=True)
class Series:
    """One line, cloud or band. `low` and `high`, where given, are an interval about `y`."""

    name: str
    x: Floats
    y: Floats
    style: Literal["line", "points", "cloud", "thin", "dashed"] = "line"
    color: int = 0  # place in the palette; -1 is grey
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Chart:
    title: str
    series: Sequence[Series]
    unit: str = ""
    kind: Literal["lines", "stack", "bars"] = "lines"
    caption: Sequence[Words] = ()
    x_label: str = "env steps"
    x_end: float | None = None  # the axis reaches at least to here
    log: bool = False  # a logarithmic axis, where all is positive and spans decades
    from_zero: bool = False
    robust: bool = True  # a few outliers may lie outside the picture
    healthy: tuple[float, float] | None = None  # shaded
    level: tuple[float, str] | None = None  # a dashed horizontal line with its name
    marks: Sequence[tuple[float, str]] = ()  # vertical lines: resumes
    wide: bool = False


@dataclass(frozen=True)
class Charts:
    heading: str
    charts: Sequence[Chart]


@dataclass(frozen=True)
class Fold:
    """Shown when asked for."""

    title: str
    block: Table | Bullets | Paragraph


@dataclass(frozen=True)
class Bar:
    """The effect of one change, with its interval."""

    name: str  # of what was changed
    label: str  # to what
    value: float
    low: float
    high: float
    sure: bool  # the effect is no accident


@dataclass(frozen=True)
class Tornado:
    """Effects of changes, the largest first; bars of one name follow one another."""

    title: str
    unit: str
    bars: Sequence[Bar]


Block = Paragraph | Heading | Bullets | Tiles | Table | Chart | Charts | Fold | Tornado


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Added:
    """What a diagnosis adds to the description of a run."""

    summary: Sequence[Block] = ()  # before all else in section 1
    metrics: Sequence[Block] = ()  # at the end of section 2
    sections: Sequence[Section] = ()  # 3 and 4
    steps: Sequence[Block] = ()  # first in section 5
    marks: Sequence[tuple[float, str]] = ()  # on the learning curve


@dataclass(frozen=True)
class Document:
    title: str
    run_id: str
    status: str
    sections: Sequence[Section]
    curve: Chart | Tornado | None = None  # the picture beside report.md
    notes: Sequence[Words] = field(default=())  # what could not be read
