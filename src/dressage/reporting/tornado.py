"""A tornado plot: for each setting the effect of its changes, as bars from zero with intervals.

Two bars a setting, one below the other, since both changes may do harm.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from dressage.reporting.document import Bar, Tornado
from dressage.reporting.numbers import number, signed, tick_labels
from dressage.reporting.scale import round_ticks
from dressage.reporting.style import PALETTE_DARK, PALETTE_LIGHT

WIDTH, LEFT, RIGHT = 860, 290, 30
TOP, ROW, BOTTOM = 56, 22, 46
COLUMNS = 36  # of the bars in a terminal


def reach(plot: Tornado) -> tuple[float, float]:
    """From the lowest to the highest that is drawn, zero included."""
    ends = [0.0, *(end for bar in plot.bars for end in (bar.value, bar.low, bar.high))]
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (-1.0, 1.0)


def text_rows(plot: Tornado) -> list[tuple[str, str, str, str, str]]:
    """(setting, value, left of zero, right of zero, figures) for a terminal."""
    most = max((abs(bar.value) for bar in plot.bars), default=0.0) or 1.0
    rows, before = [], ""
    for bar in plot.bars:
        size = round(COLUMNS // 2 * abs(bar.value) / most)
        mark = "█" if bar.sure else "░"
        left = (mark * size if bar.value < 0 else "").rjust(COLUMNS // 2)
        right = (mark * size if bar.value > 0 else "").ljust(COLUMNS // 2)
        figures = f"{signed(bar.value)} [{number(bar.low, 3)}, {number(bar.high, 3)}]"
        rows.append((bar.name if bar.name != before else "", bar.label, left, right, figures))
        before = bar.name
    return rows


def svg(plot: Tornado) -> str:
    """A picture of its own, light or dark as the reader's system is."""
    low, high = reach(plot)
    span = 1.06 * (high - low)
    low -= 0.03 * (high - low)
    width, height = WIDTH - LEFT - RIGHT, ROW * len(plot.bars)

    def place(value: float) -> float:
        return round(LEFT + (value - low) / span * width, 1)

    ticks = round_ticks(low, low + span, 6)
    pieces = [
        f'<path class="grid" d="M{place(tick)},{TOP}v{height}"/><text x="{place(tick)}" '
        f'y="{TOP + height + 18}" text-anchor="middle">{escape(label)}</text>'
        for tick, label in zip(ticks, tick_labels(ticks), strict=True)
    ]
    before = ""
    for index, bar in enumerate(plot.bars):
        pieces.append(_bar(bar, TOP + ROW * index, place, named=bar.name != before))
        before = bar.name
    total = TOP + height + BOTTOM
    return (
        f'<svg class="tornado" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" '
        f'width="{WIDTH}" height="{total}" role="img" aria-label="{escape(plot.title)}">'
        f"<style>{_style()}</style>"
        f'<rect class="ground" x=".5" y=".5" width="{WIDTH - 1}" height="{total - 1}" rx="8"/>'
        f'<text class="title" x="22" y="30">{escape(plot.title)}</text>{"".join(pieces)}'
        f'<path class="zero" d="M{place(0.0)},{TOP - 4}v{height + 8}"/>'
        f'<text x="{LEFT + width / 2}" y="{total - 10}" text-anchor="middle">'
        f"{escape(plot.unit)}</text></svg>\n"
    )


def _bar(bar: Bar, top: float, at: Callable[[float], float], named: bool) -> str:
    middle = top + ROW / 2
    left, right = sorted((at(0.0), at(bar.value)))
    name = f'<text class="name" x="22" y="{middle + 4}">{escape(bar.name)}</text>' if named else ""
    return (
        f'{name}<text x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(bar.label)}</text>'
        f'<rect class="{"sure" if bar.sure else "unsure"}" x="{left}" y="{top + 4}" '
        f'width="{round(max(right - left, 1.0), 1)}" height="{ROW - 8}"/>'
        f'<path class="whisker" d="M{at(bar.low)},{middle}H{at(bar.high)}'
        f'M{at(bar.low)},{middle - 4}v8M{at(bar.high)},{middle - 4}v8"/>'
    )


def _style() -> str:
    def theme(ground: str, edge: str, ink: str, soft: str, grid: str, fill: str) -> str:
        return (
            f".tornado .ground{{fill:{ground};stroke:{edge}}}.tornado text{{fill:{soft}}}"
            f".tornado .title,.tornado .name{{fill:{ink}}}.tornado .grid{{stroke:{grid}}}"
            f".tornado .zero,.tornado .whisker{{stroke:{ink}}}.tornado .sure{{fill:{fill}}}"
            f".tornado .unsure{{fill:{grid}}}"
        )

    return (
        ".tornado{max-width:100%;height:auto}.tornado text{font:12px system-ui,sans-serif}"
        ".tornado .title{font-size:15px;font-weight:600}.tornado .name{font-weight:600}"
        ".tornado path{fill:none}.tornado .whisker{stroke-width:1.2;opacity:.8}"
        + theme("#fff", "#e2e4e8", "#1b1f24", "#59616c", "#d9dce1", PALETTE_LIGHT[0])
        + "@media(prefers-color-scheme:dark){"
        + theme("#15181c", "#2b3038", "#e8eaed", "#9aa3ae", "#3a4049", PALETTE_DARK[0])
        + "}"
    )
