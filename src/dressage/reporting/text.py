"""The report as a terminal shows it: the numbers that matter, and where the rest lies."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dressage.reporting.document import Bullets, Document, Fold, Paragraph, Table, Tiles, Words
from dressage.reporting.inline import plain_words

WIDTH = 100
SHOWN = ("summary", "metrics", "members", "next")


def text(document: Document) -> str:
    lines = [document.title, f"{document.run_id}: {document.status}", ""]
    for note in document.notes:
        lines += [*_wrap(note, ""), ""]
    for section in document.sections:
        if section.key not in SHOWN:
            continue
        lines += [section.title, "─" * len(section.title)]
        for block in section.blocks:
            match block:
                case Tiles(tiles):
                    rows = [(tile.label, tile.value, tile.detail) for tile in tiles]
                    lines += [*_columns(rows, (1,)), ""]
                case Table():
                    lines += [*_table(block), ""]
                case Bullets(items):
                    lines += [line for item in items for line in _wrap(item, "- ")] + [""]
                case Paragraph(words, quiet=False):
                    lines += [*_wrap(words, ""), ""]
                case Paragraph() | Fold() | _:
                    pass
    return "\n".join(lines).rstrip() + "\n"


def _wrap(words: Words, lead: str) -> list[str]:
    return textwrap.wrap(
        lead + plain_words(words),
        WIDTH,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _table(table: Table) -> list[str]:
    keep = [i for i, name in enumerate(table.header) if table.narrow is None or i in table.narrow]
    rows = [[plain_words(row[i]) for i in keep] for row in table.rows]
    head = [[table.header[i] for i in keep]] if any(table.header) else []
    numeric = [place for place, i in enumerate(keep) if i in table.numeric]
    return _columns(head + rows, numeric)


def _columns(rows: Sequence[Sequence[str]], numeric: Sequence[int]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    made = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in numeric else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        made.append("  ".join(cells).rstrip())
    return made
