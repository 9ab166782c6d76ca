"""Tables that fit: in a narrow terminal the columns that can be missed go first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

Cell = str | Text
GAP = 2


@dataclass(frozen=True)
class Column:
    name: str
    right: bool = False
    drop: int = 0  # 0: always shown; else the highest number goes first
    fold: bool = False  # long text that may use several lines
    style: str = ""


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    width: int,
    pooled: Sequence[Cell] | None = None,
) -> Table:
    """`pooled` is a last row that sums the others up."""
    every = [*rows, pooled] if pooled else list(rows)
    kept = list(range(len(columns)))
    while _needed(columns, every, kept) > width and any(columns[at].drop for at in kept):
        kept.remove(max(kept, key=lambda at: columns[at].drop))
    made = Table(box=None, padding=(0, GAP, 0, 0), header_style="dim", pad_edge=False)
    for at in kept:
        column = columns[at]
        made.add_column(
            column.name,
            justify="right" if column.right else "left",
            style=column.style,
            no_wrap=not column.fold,
            overflow="fold" if column.fold else "ellipsis",
        )
    for row in rows:
        made.add_row(*(row[at] for at in kept))
    if pooled:
        made.add_row(*(pooled[at] for at in kept), style="bold")
    return made


def _needed(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], kept: list[int]) -> int:
    """Columns of the terminal that everything kept would take, folding text at its shortest."""
    total = 0
    for at in kept:
        widths = [len(columns[at].name), *(len(row[at]) for row in rows)]
        total += (min(max(widths), 24) if columns[at].fold else max(widths)) + GAP
    return total - GAP
