"""The report as one HTML file that needs nothing else: no network, no fonts, no other script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from dressage.reporting.document import (
    TONES,
    Block,
    Bullets,
    Chart,
    Charts,
    Code,
    Document,
    Fold,
    Heading,
    Paragraph,
    Section,
    Spark,
    Table,
    Tiles,
    Tornado,
    Words,
)
from dressage.reporting.figure import figure, spark
from dressage.reporting.inline import html_words
from dressage.reporting.script import SCRIPT, SCRIPT_HASH
from dressage.reporting.style import STYLE
from dressage.reporting.tornado import svg

CHIPS = {
    "finished": "good",
    "stopped": "warn",
    "running": "",
    "failed": "bad",
    "crashed": "bad",
    "halted": "bad",
    "proven": "good",
    "not proven": "warn",
    "worse": "bad",
}
POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def html_page(document: Document) -> str:
    charts: list[Any] = []
    body = "".join(
        _section(number, section, charts) for number, section in enumerate(document.sections, 1)
    )
    links = "".join(
        f'<a href="#{section.key}">{escape(section.title)}</a>' for section in document.sections
    )
    notes = "".join(f'<p class="quiet">{html_words(note)}</p>' for note in document.notes)
    chip = f'<span class="chip {CHIPS.get(document.status, "")}">{escape(document.status)}</span>'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(document.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<header><div><p class="over">dressage training report</p>'
        f"<h1>{escape(document.title)} {chip}</h1>"
        f'<p class="id">{escape(document.run_id)}</p>{notes}</div></header>\n'
        f"<nav><div>{links}</div></nav>\n<main>\n{body}"
        "<footer>Made by dressage from the run's files alone.</footer>\n</main>\n"
        f'<script type="application/json" id="data">{_json(charts)}</script>\n'
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _json(charts: list[Any]) -> str:
    """No "<" may stand in it, or a name from a run could end the element."""
    text = json.dumps(charts, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _section(number: int, section: Section, charts: list[Any]) -> str:
    blocks = "".join(_block(block, charts) for block in section.blocks)
    title = f"<h2><span>{number}</span>{escape(section.title)}</h2>"
    return f'<section id="{section.key}">{title}{blocks}</section>\n'


def _block(block: Block, charts: list[Any]) -> str:
    match block:
        case Paragraph(words, quiet):
            tone = ' class="quiet"' if quiet else ""
            return f"<p{tone}>{html_words(words)}</p>"
        case Heading(words):
            return f"<h3>{html_words(words)}</h3>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{html_words(item)}</li>' for item in items)}</ul>"
        case Tiles(tiles):
            return f'<dl class="tiles">{"".join(map(_tile, tiles))}</dl>'
        case Table():
            return _table(block)
        case Chart():
            return figure(block, charts)
        case Charts(heading, members):
            title = f"<h3>{escape(heading)}</h3>" if heading else ""
            return f'{title}<div class="grid2">{"".join(figure(c, charts) for c in members)}</div>'
        case Tornado():
            return f'<figure style="margin:0">{svg(block)}</figure>'
        case Fold(title, inner):
            return f"<details><summary>{escape(title)}</summary>{_block(inner, charts)}</details>"


def _tile(tile: Any) -> str:
    return (
        f'<div class="tile"><dt>{escape(tile.label)}</dt><dd><div class="value">'
        f'{escape(tile.value)}</div><div class="detail">{escape(tile.detail)}</div></dd></div>'
    )


def _table(table: Table) -> str:
    kind = "pairs" if not any(table.header) else "keys" if "Course" in table.header else ""
    head = ""
    if any(table.header):
        cells = "".join(
            f"<th{_align(i, table.numeric)}>{escape(name)}</th>"
            for i, name in enumerate(table.header)
        )
        head = f"<thead><tr>{cells}</tr></thead>"
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_align(i, table.numeric)}>{_cell(table.header[i], cell)}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    return f'<div class="table"><table class="{kind}">{head}<tbody>{rows}</tbody></table></div>'


def _align(column: int, numeric: Sequence[int]) -> str:
    return ' class="num"' if column in numeric else ""


def _cell(header: str, cell: Words) -> str:
    if header == "Healthy range" and isinstance(cell, str) and cell and not isinstance(cell, Code):
        word, _, rest = cell.partition(" ")
        chip = "good" if word == "inside" else "warn"
        return f'<span class="chip {chip}">{escape(word)}</span> {escape(rest)}'
    if header == "Severity" and isinstance(cell, str):
        return f'<span class="chip {TONES.get(cell, "")}">{escape(cell)}</span>'
    if header == "Status" and isinstance(cell, str):
        return f'<span class="chip {CHIPS.get(cell, "")}">{escape(cell)}</span>'
    if isinstance(cell, Spark):
        return spark(cell.values)
    return html_words(cell)
