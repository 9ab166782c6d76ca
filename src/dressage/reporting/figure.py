"""A chart as a figure of the page: the drawing stretches with the page, the labels do not."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from dressage.reporting.document import Chart, Floats, Series
from dressage.reporting.inline import html_words
from dressage.reporting.scale import Axes, axes_of
from dressage.reporting.shapes import Canvas, color, draw, thinned

CANVAS = Canvas(2000, 1000)


def figure(chart: Chart, charts: list[Any]) -> str:
    """The figure; what its crosshair needs is appended to `charts`."""
    axes = axes_of(chart)
    unit = f'<span class="unit">{escape(chart.unit)}</span>' if chart.unit else ""
    head = f"<div><h4>{escape(chart.title)}</h4>{unit}</div>"
    wide = " wide" if chart.wide else ""
    if axes is None:
        return (
            f'<figure class="chart{wide}">{head}<figcaption><p>Nothing was measured.</p>'
            f"{_caption(chart, [])}</figcaption></figure>"
        )
    drawn = list(chart.series)
    if chart.kind == "lines":
        drawn = [thinned(series, chart.wide) for series in drawn]
    index = len(charts)
    charts.append(_numbers(chart, drawn, axes))
    inside = draw(chart, drawn, axes, CANVAS)
    return (
        f'<figure class="chart{wide}" data-chart="{index}" tabindex="0" '
        f'aria-label="{escape(chart.title)}">{head}{_legend(chart)}'
        f'<div class="plot"><svg viewBox="0 0 {CANVAS.width} {CANVAS.height}" '
        f'preserveAspectRatio="none" aria-hidden="true">{inside}</svg>{_labels(chart, axes)}</div>'
        f"<figcaption>{_caption(chart, axes.notes)}</figcaption></figure>"
    )


def spark(values: list[float]) -> str:
    """A course from 0 to 1 as a small line within a table."""
    if not values:
        return ""
    step = 100 / (len(values) - 1)
    places = " ".join(f"{i * step:.0f},{22 - 20 * value:.0f}" for i, value in enumerate(values))
    return (
        '<svg class="spark c0" viewBox="-2 0 104 24" preserveAspectRatio="none" '
        f'aria-hidden="true"><polyline points="{places}"/></svg>'
    )


def _caption(chart: Chart, notes: list[str]) -> str:
    lines = [f"<p>{html_words(words)}</p>" for words in chart.caption]
    return "".join(lines + [f"<p>{escape(note)}</p>" for note in notes])


def _legend(chart: Chart) -> str:
    """A button for each name; all thin lines (the seeds of a group) share one."""
    names: dict[str, list[int]] = {}
    for index, series in enumerate(chart.series):
        names.setdefault("seeds" if series.style == "thin" else series.name, []).append(index)
    if len(names) < 2:
        return '<div class="legend"></div>'
    buttons = []
    for name, members in names.items():
        tone = color(chart.series[members[0]].color)
        if chart.kind == "bars":
            tone += f" k{members[0]}"
        if chart.series[members[0]].style == "thin":
            tone += " hair"
        which = " ".join(map(str, members))
        inside = f'<i class="{tone}"></i>{escape(name)}'
        if chart.kind == "stack":  # a stack without one of its layers would be another picture
            buttons.append(f"<span>{inside}</span>")
        else:
            buttons.append(
                f'<button type="button" data-for="{which}" aria-pressed="true">{inside}</button>'
            )
    return f'<div class="legend">{"".join(buttons)}</div>'


def _labels(chart: Chart, axes: Axes) -> str:
    across = [
        f'<span class="x" style="left:{100 * axes.x_share(x):.2f}%">{escape(text)}</span>'
        for x, text in axes.x_ticks
    ]
    up = [
        f'<span class="y" style="bottom:{100 * axes.tick_share(y):.2f}%">'
        f"{escape(_share(chart, y, text))}</span>"
        for y, text in axes.y_ticks
    ]
    tags = []
    if chart.level is not None:
        place = 100 * axes.tick_share(chart.level[0])
        tags.append(
            f'<span class="tag" style="bottom:{place:.2f}%">{escape(chart.level[1])}</span>'
        )
    return (
        f'<div class="xs">{"".join(across)}</div><div class="ys">{"".join(up)}</div>{"".join(tags)}'
        f'<span class="x axis">{escape(chart.x_label)}</span>'
    )


def _share(chart: Chart, value: float, text: str) -> str:
    return f"{100 * value:.0f} %" if chart.kind == "stack" else text


def _numbers(chart: Chart, drawn: list[Series], axes: Axes) -> dict[str, Any]:
    series = []
    for one in drawn:
        if one.style in ("cloud", "thin"):  # too many to read off: no values, but a legend entry
            series.append({"n": one.name, "c": color(one.color), "x": [], "y": []})
            continue
        entry: dict[str, Any] = {
            "n": one.name,
            "c": color(one.color),
            "x": _rounded(one.x, 6),
            "y": _rounded(one.y, 4),
        }
        if one.low is not None and one.high is not None:
            entry |= {"l": _rounded(one.low, 4), "h": _rounded(one.high, 4)}
        series.append(entry)
    ends = {"x": [axes.x0, axes.x1], "y": [axes.y0, axes.y1], "log": axes.log}
    return {"k": chart.kind, "u": chart.x_label, **ends, "s": series}


def _rounded(values: Floats, digits: int) -> list[float | int | None]:
    """Short numbers: 12, 0.1234; None for what is not finite."""
    texts = [f"%.{digits}g" % v if math.isfinite(v) else "" for v in values.tolist()]
    found = [float(text) if text else None for text in texts]
    return [int(v) if v is not None and v == int(v) and abs(v) < 1e15 else v for v in found]
