"""The report as a terminal shows it: the numbers that matter, small plots, and where the rest lies.

A line is made of pieces with a role each (`heading`, `quiet`, `line` of a plot, …): a terminal
gives roles a colour, plain text leaves them out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np

from dressage.reporting import braille
from dressage.reporting.document import (
    TONES,
    Bullets,
    Chart,
    Charts,
    Document,
    Heading,
    Paragraph,
    Section,
    Series,
    Strong,
    Table,
    Tiles,
    Tornado,
    Words,
)
from dressage.reporting.inline import pieces, plain_words
from dressage.reporting.numbers import number, whole
from dressage.reporting.tornado import text_rows
from dressage.reporting.trends import block_means

WIDTH = 100
SHOWN = ("summary", "metrics", "members", "differences", "bottlenecks", "recommendations", "next")
DRAWN = ("bottlenecks",)  # sections whose small charts are drawn; in others a table has a course
PLOT_ROWS, SMALL_ROWS = 8, 4
MOST_POINTS = 400  # of a plot: more than twice its columns
SECOND_POINTS = 24  # of a second line, drawn as dots
Piece = tuple[str, str]  # text and its role
Line = list[Piece]


def text(document: Document, width: int = WIDTH) -> str:
    made = ["".join(piece for piece, _ in line).rstrip() for line in lines(document, width)]
    return "\n".join(made).rstrip() + "\n"


def lines(document: Document, width: int = WIDTH) -> list[Line]:
    """Everything that fits a terminal of so many columns."""
    made: list[Line] = [
        [(document.title, "title")],
        [(f"{document.run_id}: {document.status}", "quiet")],
        [],
    ]
    for note in document.notes:
        made += [*_wrapped(note, width, role="quiet"), []]
    for place, section in enumerate(document.sections, 1):
        if section.key in SHOWN:
            title = f"{place} {section.title}"
            made += [[(title, "heading")], [("─" * len(title), "heading")]]
            made += _section(section, width)
    return made


def _section(section: Section, width: int) -> list[Line]:
    made: list[Line] = []
    for block in section.blocks:
        match block:
            case Tiles(tiles):
                rows = [(tile.label, tile.value, tile.detail) for tile in tiles]
                made += [*_columns(rows, (1,), width), []]
            case Table():
                made += [*_table(block, width), []]
            case Bullets(items):
                made += [line for item in items for line in _wrapped(item, width, "- ")] + [[]]
            case Tornado():
                made += [*_tornado(block), []]
            case Heading(words):
                made += _wrapped(words, width, role="part")
            case Paragraph(words, quiet=False):
                made += [*_wrapped(words, width), []]
            case Chart() if drawn := _plot(block, width, PLOT_ROWS):
                made += [*drawn, []]
            case Charts(_, charts) if section.key in DRAWN:
                for chart in charts:
                    if drawn := _plot(chart, min(width, 76), SMALL_ROWS):
                        made += [[(f"  {chart.title}", "quiet")], *drawn, []]
            case _:
                pass
    return made


def _wrapped(words: Words, width: int, lead: str = "", role: str = "") -> list[Line]:
    """Wrapped at spaces; a piece that the eye should find keeps its role."""
    found = textwrap.wrap(
        lead + plain_words(words),
        width,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
        break_long_words=False,
    )
    strong = [piece for piece in pieces(words) if isinstance(piece, Strong)]
    return [_marked(line, strong, role) for line in found]


def _marked(line: str, strong: Sequence[str], role: str) -> Line:
    for word in strong:
        before, found, after = line.partition(word)
        if found:
            return [(before, role), (found, TONES.get(word, "strong")), (after, role)]
    return [(line, role)]


def _table(table: Table, width: int) -> list[Line]:
    keep = [i for i, name in enumerate(table.header) if table.narrow is None or i in table.narrow]
    rows = [[plain_words(row[i]) for i in keep] for row in table.rows]
    head = [[table.header[i] for i in keep]] if any(table.header) else []
    numeric = [place for place, i in enumerate(keep) if i in table.numeric]
    made = _columns(head + rows, numeric, width)
    if head:
        made[0] = [(piece, "quiet") for piece, _ in made[0]]
    return made


def _columns(rows: Sequence[Sequence[str]], numeric: Sequence[int], width: int) -> list[Line]:
    """Columns side by side; the last is wrapped where it does not fit."""
    if not rows:
        return []
    last = len(rows[0]) - 1
    widths = [max(len(row[i]) for row in rows) for i in range(last + 1)]
    taken = sum(widths[:-1]) + 2 * last
    room = max(24, width - taken)
    made: list[Line] = []
    for row in rows:
        parts = [row[last]]
        if len(row[last]) > room and last not in numeric:
            parts = textwrap.wrap(row[last], room, break_on_hyphens=False) or [""]
        cells = [
            cell.rjust(size) if i in numeric else cell.ljust(size)
            for i, (cell, size) in enumerate(zip(row[:last], widths, strict=False))
        ]
        end = parts[0].rjust(widths[last]) if last in numeric else parts[0]
        made.append([("  ".join([*cells, end]).rstrip(), TONES.get(row[0], ""))])
        made += [[(" " * taken + part, "")] for part in parts[1:]]
    return made


def _plot(chart: Chart, width: int, rows: int) -> list[Line]:
    """The first line of a chart in braille, its points or else its second line as dots, and its
    level as a rule."""
    if chart.kind != "lines":
        return []
    drawn_lines = [s for s in chart.series if s.style == "line"][:2]
    dots = next((s for s in chart.series if s.style == "points"), None)
    curves = [_points(drawn_lines[0] if drawn_lines else None), _points(dots)]
    second = dots is None and len(drawn_lines) == 2
    if second:
        curves[1] = _points(drawn_lines[1], SECOND_POINTS)
    right = max((x for curve in curves for x, _ in curve), default=0.0)
    frame = braille.frame_of(curves, right, min(width, WIDTH) - 12, rows)
    if frame is None:
        return []
    level = chart.level[0] if chart.level else None
    labels = {0: number(frame.high, 3), rows - 1: number(frame.low, 3)}
    made: list[Line] = []
    for index, cells in enumerate(braille.draw(frame, curves[0], curves[1], level)):
        drawn: Line = [(f"{labels.get(index, ''):>10} │", "quiet")]
        for role, run in groupby(cells, key=itemgetter(1)):
            drawn.append(("".join(character for character, _ in run), role))
        made.append(drawn)
    end = f"{whole(right)} {chart.x_label}"
    made.append([(f"{'':10} └" + "─" * max(1, frame.width - len(end) - 1) + " " + end, "quiet")])
    if second:
        first, other = (series.name for series in drawn_lines)
        line: Line = [(f"{'':12}— ", "line"), (f"{first}   ", "quiet")]
        made.append([*line, ("• ", "mark"), (other, "quiet")])
    return made


def _tornado(plot: Tornado) -> list[Line]:
    """A line for each change: to the left what it lost, to the right what it gained."""
    rows = text_rows(plot)
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    made: list[Line] = [[(plot.title, "quiet")]]
    for bar, (name, label, left, right, figures) in zip(plot.bars, rows, strict=True):
        role = "line" if bar.sure else "quiet"
        head = f"{name:<{widths[0]}}  {label:>{widths[1]}}  "
        made.append([(head, ""), (f"{left}│{right}", role), (f"  {figures}", "")])
    return made


def _points(series: Series | None, most: int = MOST_POINTS) -> list[tuple[float, float]]:
    if series is None:
        return []
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    known = np.isfinite(x) & np.isfinite(y) & (x >= 0)
    x, y = block_means(x[known], most), block_means(y[known], most)
    return list(zip(x.tolist(), y.tolist(), strict=True))
