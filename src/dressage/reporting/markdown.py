"""The report as Markdown, for the run's folder and for a forge."""

from __future__ import annotations

from collections.abc import Sequence

from dressage.reporting.document import (
    Block,
    Bullets,
    Chart,
    Charts,
    Document,
    Fold,
    Heading,
    Paragraph,
    Table,
    Tiles,
    Tornado,
)
from dressage.reporting.inline import markdown_text, markdown_words

CURVE_FILE = "report-curve.svg"


def markdown(document: Document, picture: bool = True) -> str:
    """`picture`: whether the learning curve lies beside the file."""
    title = markdown_text(document.title)
    lines = [f"# {title}", "", f"`{document.status}` · {markdown_text(document.run_id)}", ""]
    for note in document.notes:
        lines += [f"> {markdown_words(note)}", ""]
    for number, section in enumerate(document.sections, 1):
        lines += [f"## {number} {section.title}", ""]
        for block in section.blocks:
            made = _block(block, document.curve if picture else None)
            lines += [*made, ""] if made else []
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block, curve: Chart | Tornado | None) -> list[str]:
    match block:
        case Paragraph(words):
            return [markdown_words(words)]
        case Heading(words):
            return [f"### {markdown_words(words)}"]
        case Bullets(items):
            return [f"- {markdown_words(item)}" for item in items]
        case Tiles(tiles):
            rows = [(tile.label, tile.value, tile.detail) for tile in tiles]
            return _table(Table(("", "", ""), rows, numeric=(1,)))
        case Table():
            return _table(block)
        case Chart() | Tornado():
            if block is curve:
                return [f"![{markdown_text(block.title)}]({CURVE_FILE})"]
            return []
        case Charts():
            return []  # drawn on the page; the table has their numbers
        case Fold(title, inner):
            summary = markdown_text(title)
            inside = _block(inner, curve)
            return [f"<details><summary>{summary}</summary>", "", *inside, "", "</details>"]


def _table(table: Table) -> list[str]:
    columns = range(len(table.header))
    bars = ["--:" if column in table.numeric else "---" for column in columns]
    head = [_row([markdown_text(name) for name in table.header]), _row(bars)]
    return head + [_row([markdown_words(cell) for cell in row]) for row in table.rows]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell or ' ' for cell in cells)} |"
