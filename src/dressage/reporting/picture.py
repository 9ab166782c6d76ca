"""A chart as an SVG file of its own, for report.md and for a README."""

from __future__ import annotations

from html import escape

from dressage.reporting.document import Chart, Tornado
from dressage.reporting.scale import axes_of
from dressage.reporting.shapes import Canvas, color, draw, thinned
from dressage.reporting.style import PALETTE_DARK, PALETTE_LIGHT
from dressage.reporting.tornado import svg

WIDTH, HEIGHT = 860, 360
LEFT, RIGHT, TOP, BOTTOM = 62, 22, 66, 44


def picture(chart: Chart | Tornado) -> str:
    """Light or dark as the reader's system is, on a background of its own."""
    if isinstance(chart, Tornado):
        return svg(chart)
    axes = axes_of(chart)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{escape(chart.title)}">'
        f"<style>{_style()}</style>"
        f'<rect class="ground" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>'
        f'<text class="title" x="{LEFT - 40}" y="30">{escape(chart.title)}</text>'
    )
    if axes is None:
        return (
            f'{head}<text x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle">nothing measured '
            "yet</text></svg>\n"
        )
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    drawn = [thinned(series, wide=True) for series in chart.series]
    inside = draw(chart, drawn, axes, Canvas(width, height, digits=1))
    labels = [
        f'<text x="{LEFT - 8}" y="{TOP + (1 - axes.tick_share(y)) * height + 4:.1f}" '
        f'text-anchor="end">{escape(text)}</text>'
        for y, text in axes.y_ticks
    ]
    labels += [
        f'<text x="{LEFT + axes.x_share(x) * width:.1f}" y="{TOP + height + 18}" '
        f'text-anchor="middle">{escape(text)}</text>'
        for x, text in axes.x_ticks
    ]
    labels.append(
        f'<text x="{LEFT + width / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(chart.x_label)}</text>"
    )
    if chart.level is not None:
        y = TOP + (1 - axes.tick_share(chart.level[0])) * height
        labels.append(f'<text x="{LEFT + 6}" y="{y - 5:.1f}">{escape(chart.level[1])}</text>')
    return (
        f'{head}{_legend(chart)}<svg x="{LEFT}" y="{TOP}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{inside}</svg>{"".join(labels)}</svg>\n'
    )


def _legend(chart: Chart) -> str:
    pieces, x = [], LEFT - 40.0
    named = [s for s in chart.series if s.style != "thin"]
    for series in named:
        pieces.append(
            f'<g class="{color(series.color)}">'
            f'<circle class="key" cx="{x + 5:.0f}" cy="48" r="4.5"/>'
            f'<text x="{x + 15:.0f}" y="52">{escape(series.name)}</text></g>'
        )
        x += 34 + 6.4 * len(series.name)
    return "".join(pieces)


def _style() -> str:
    def theme(ground: str, edge: str, ink: str, soft: str, grid: str, palette: list[str]) -> str:
        series = "".join(
            f".c{i}{{stroke:{c}}}.c{i} .band,.c{i} .key,.c{i} .layer{{fill:{c}}}"
            for i, c in enumerate(palette)
        )
        return (
            f".ground{{fill:{ground};stroke:{edge}}}text{{fill:{soft}}}.title{{fill:{ink}}}"
            f".grid{{stroke:{grid}}}.level,.mark{{stroke:{soft}}}.cx{{stroke:{soft}}}"
            f".cx .key{{fill:{soft}}}{series}"
        )

    return (
        "text{font:12px system-ui,sans-serif;stroke:none}.title{font-size:15px;font-weight:600}"
        "path{fill:none}.line,.points{stroke-width:2;stroke-linejoin:round}.thin{stroke-width:1;"
        "opacity:.45}.dashed{stroke-width:1.5;stroke-dasharray:5 4}.dots{stroke-width:7;"
        "stroke-linecap:round}.few{stroke-width:5}.cloud{stroke-width:3.5;stroke-linecap:round;"
        "opacity:.3}.error{stroke-width:1.5;opacity:.7}.band{stroke:none;opacity:.18}"
        ".key{stroke:none}.level{stroke-dasharray:6 4}.mark{stroke-dasharray:2 3}"
        + theme("#fff", "#e2e4e8", "#1b1f24", "#59616c", "#ebedf0", PALETTE_LIGHT)
        + "@media(prefers-color-scheme:dark){"
        + theme("#15181c", "#2b3038", "#e8eaed", "#9aa3ae", "#272c33", PALETTE_DARK)
        + "}"
    )
