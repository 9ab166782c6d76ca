"""The inside of a chart as SVG, the same for the page (stretched) and the picture file (fixed).

Strokes do not scale with the drawing, and a dot is a line of no length with round ends: so the page
can stretch a chart to any width, and neither lines nor dots are distorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dressage.math.summary import downsample
from dressage.reporting.document import Chart, Floats, Series
from dressage.reporting.scale import Axes

POINTS, WIDE_POINTS = 150, 400  # that a line keeps: about one for every three pixels
CLOUD = 700
STACK_COLUMNS = 100


@dataclass(frozen=True)
class Canvas:
    width: float
    height: float
    digits: int = 0  # decimals of a coordinate


def thinned(series: Series, wide: bool) -> Series:
    """As many points as can be seen."""
    limit = WIDE_POINTS if wide else POINTS
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    keep = np.isfinite(x) & np.isfinite(y)
    x, y = x[keep], y[keep]
    low, high = (None if b is None else b[keep] for b in (series.low, series.high))
    if series.style == "cloud" or low is not None or series.style == "thin":
        limit = CLOUD if series.style == "cloud" else limit
        if len(x) > limit:  # evenly: a band must keep its rows together
            at = np.linspace(0, len(x) - 1, limit).round().astype(np.int64)
            x, y = x[at], y[at]
            low, high = (None if b is None else b[at] for b in (low, high))
    else:
        x, y = downsample(x, y, limit)
    return Series(series.name, x, y, series.style, series.color, low, high)


def color(index: int) -> str:
    return "cx" if index < 0 else f"c{index % 8}"


def draw(chart: Chart, drawn: list[Series], axes: Axes, canvas: Canvas) -> str:
    """Grid, shading and all series."""
    pieces = [_grid(axes, canvas), _shading(chart, axes, canvas)]
    if chart.kind == "stack":
        pieces += _stack(drawn, axes, canvas)
    elif chart.kind == "bars":
        pieces += [
            f'<g data-s="{i}" class="{color(s.color)}">{_bars(s, axes, canvas, i)}</g>'
            for i, s in enumerate(drawn)
        ]
    else:
        order = sorted(range(len(drawn)), key=lambda i: drawn[i].style not in ("cloud", "thin"))
        pieces += [
            f'<g data-s="{i}" class="{color(drawn[i].color)}">{_line(drawn[i], axes, canvas)}</g>'
            for i in order
        ]
    return "".join(pieces)


def _text(value: float, digits: int) -> str:
    return str(round(value)) if digits == 0 else f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _coordinates(x: Floats, y: Floats, axes: Axes, canvas: Canvas) -> tuple[list[str], list[str]]:
    """The way from each point to the next, rounded so that errors do not add up."""
    columns = []
    for places in (axes.across(x) * canvas.width, (1 - axes.up(y)) * canvas.height):
        rounded = np.round(places, canvas.digits)
        steps = np.diff(rounded, prepend=0.0).tolist()
        columns.append([_text(step, canvas.digits) for step in steps])
    return columns[0], columns[1]


def _path(x: Floats, y: Floats, axes: Axes, canvas: Canvas) -> str:
    """Relative moves: "M0,500l4,-3 4,2", which is short."""
    if not len(x):
        return ""
    across, down = _coordinates(x, y, axes, canvas)
    rest = " ".join(f"{a},{b}" for a, b in zip(across[1:], down[1:], strict=True))
    return f"M{across[0]},{down[0]}" + (f"l{rest}" if rest else "h0")


def _dots(x: Floats, y: Floats, axes: Axes, canvas: Canvas) -> str:
    across, down = _coordinates(x, y, axes, canvas)
    pairs = zip(across, down, strict=True)
    return "".join(f"{'m' if i else 'M'}{a},{b}h0" for i, (a, b) in enumerate(pairs))


def _line(series: Series, axes: Axes, canvas: Canvas) -> str:
    x, y = series.x, series.y
    if not len(x):
        return ""
    if series.style == "cloud":
        return f'<path class="cloud" d="{_dots(x, y, axes, canvas)}"/>'
    parts = []
    if series.low is not None and series.high is not None:
        parts.append(_interval(series, series.low, series.high, axes, canvas))
    parts.append(f'<path class="{series.style}" d="{_path(x, y, axes, canvas)}"/>')
    few = series.style == "line" and len(x) <= 24
    if series.style == "points" or few:
        dot = "dots" if series.style == "points" else "dots few"
        parts.append(f'<path class="{dot}" d="{_dots(x, y, axes, canvas)}"/>')
    return "".join(parts)


def _interval(series: Series, low: Floats, high: Floats, axes: Axes, canvas: Canvas) -> str:
    known = np.isfinite(low) & np.isfinite(high)
    x, low, high = series.x[known], low[known], high[known]
    if not len(x):
        return ""
    if series.style == "points":
        bars = "".join(
            _path(np.array([a, a]), np.array([b, c]), axes, canvas)
            for a, b, c in zip(x, low, high, strict=True)
        )
        return f'<path class="error" d="{bars}"/>'
    outline = _path(np.append(x, x[::-1]), np.append(high, low[::-1]), axes, canvas)
    return f'<path class="band" d="{outline}z"/>'


def _bars(series: Series, axes: Axes, canvas: Canvas, index: int) -> str:
    """A histogram: `x` are the edges, one more than `y`."""
    left = axes.across(series.x) * canvas.width
    top = (1 - axes.up(series.y)) * canvas.height
    base = float((1 - axes.up(np.zeros(1)))[0]) * canvas.height
    gap = canvas.width / 400
    d = canvas.digits
    return "".join(
        f'<rect class="bar b{index}" x="{_text(a + gap, d)}" y="{_text(t, d)}" '
        f'width="{_text(max(b - a - 2 * gap, 1), d)}" height="{_text(base - t, d)}"/>'
        for a, b, t in zip(left[:-1], left[1:], top, strict=True)
        if base - t > 0
    )


def _stack(drawn: list[Series], axes: Axes, canvas: Canvas) -> list[str]:
    pieces, below = [], np.zeros(len(drawn[0].x)) if drawn else np.zeros(0)
    for index, series in enumerate(drawn):
        above = below + series.y
        x = series.x
        outline = _path(np.append(x, x[::-1]), np.append(above, below[::-1]), axes, canvas)
        pieces.append(
            f'<g data-s="{index}" class="{color(series.color)}">'
            f'<path class="layer" d="{outline}z"/></g>'
        )
        below = above
    return pieces


def _grid(axes: Axes, canvas: Canvas) -> str:
    d = canvas.digits
    lines = "".join(
        f"M0,{_text((1 - axes.tick_share(tick)) * canvas.height, d)}h{_text(canvas.width, d)}"
        for tick, _ in axes.y_ticks
    )
    return f'<path class="grid" d="{lines}"/>'


def _shading(chart: Chart, axes: Axes, canvas: Canvas) -> str:
    pieces, d = [], canvas.digits
    if chart.healthy is not None:
        low, high = chart.healthy
        bottom = 0.0 if low == -np.inf else float(axes.up(np.array([low]))[0])
        top = 1.0 if high == np.inf else float(axes.up(np.array([high]))[0])
        bottom, top = max(bottom, 0.0), min(top, 1.0)
        if top > bottom:
            pieces.append(
                f'<rect class="healthy" x="0" y="{_text((1 - top) * canvas.height, d)}" '
                f'width="{_text(canvas.width, d)}" '
                f'height="{_text((top - bottom) * canvas.height, d)}"/>'
            )
    if chart.level is not None:
        y = (1 - float(axes.up(np.array([chart.level[0]]))[0])) * canvas.height
        pieces.append(f'<path class="level" d="M0,{_text(y, d)}h{_text(canvas.width, d)}"/>')
    for place, _ in chart.marks:
        x = float(axes.across(np.array([place]))[0]) * canvas.width
        pieces.append(f'<path class="mark" d="M{_text(x, d)},0v{_text(canvas.height, d)}"/>')
    return "".join(pieces)
