"""Axes: round ticks, ranges that outliers do not spoil, logarithms where decades are spanned."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dressage.reporting.document import Chart, Floats
from dressage.reporting.numbers import number, tick_labels

DECADES = 100.0  # ratio of the 98th to the 2nd percentile from which a logarithmic axis helps


@dataclass(frozen=True)
class Axes:
    x0: float
    x1: float
    y0: float  # of a logarithmic axis: the exponents
    y1: float
    log: bool
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    notes: list[str]

    def x_share(self, x: float) -> float:
        return (x - self.x0) / (self.x1 - self.x0)

    def tick_share(self, tick: float) -> float:
        """Of a tick on the vertical axis, which is an exponent on a logarithmic one."""
        return (tick - self.y0) / (self.y1 - self.y0)

    def across(self, x: Floats) -> Floats:
        """Places from 0 (left) to 1 (right)."""
        return (np.asarray(x, np.float64) - self.x0) / (self.x1 - self.x0)

    def up(self, y: Floats) -> Floats:
        """Places from 0 (bottom) to 1 (top); beyond for what lies outside the picture."""
        y = np.asarray(y, np.float64)
        if self.log:
            y = np.log10(np.maximum(y, 1e-300))
        return np.clip((y - self.y0) / (self.y1 - self.y0), -1.0, 2.0)


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten within the range."""
    step = round_step((high - low) / max(about, 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def round_step(rough: float) -> float:
    rough = max(rough, 1e-300)  # below it powers of ten have no room for a factor
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def axes_of(chart: Chart) -> Axes | None:
    """None where nothing can be drawn."""
    x = np.concatenate([np.empty(0), *(np.asarray(s.x, np.float64) for s in chart.series)])
    x = x[np.isfinite(x)]
    y = _heights(chart)
    finite = y[np.isfinite(y)]
    if not x.size or not finite.size:
        return None
    notes = []
    if lost := len(y) - len(finite):
        notes.append(f"{lost} value{'s' * (lost > 1)} not finite and not drawn.")
    bars = chart.kind == "bars"
    x0 = float(x.min()) if bars else min(0.0, float(x.min()))
    x1 = max(float(x.max()), chart.x_end or -math.inf)
    if not x1 > x0:
        x1 = x0 + 1.0
    if not bars and chart.kind == "lines":
        x1 += 0.008 * (x1 - x0)  # room for the last dot
    log = chart.log and _spans_decades(finite)
    if log:
        notes.append("Logarithmic axis.")
        y0, y1 = np.log10(finite.min()), np.log10(finite.max())
        y_ticks = [(float(p), _power(p)) for p in _decades(y0, y1)]
        pad = 0.04 * (y1 - y0)
        y0, y1 = y0 - pad, y1 + pad
    else:
        y0, y1, note = _linear_range(chart, finite)
        notes += [note] if note else []
        ticks = round_ticks(y0, y1, 6 if chart.wide else 4)
        y_ticks = list(zip(ticks, tick_labels(ticks), strict=True))
    x_marks = round_ticks(x0, x1, 8 if chart.wide else 5)
    x_ticks = list(zip(x_marks, tick_labels(x_marks), strict=True))
    return Axes(x0, x1, float(y0), float(y1), log, x_ticks, y_ticks, notes)


def _heights(chart: Chart) -> Floats:
    if chart.kind == "stack":
        return np.array([0.0, 1.0])
    parts: list[Floats] = [np.empty(0)]
    for series in chart.series:
        for values in (series.y, series.low, series.high):
            if values is not None:
                known = np.asarray(values, np.float64)
                known = known[~np.isnan(known)]
                if series.style == "cloud" and len(known) > 20:
                    finite = known[np.isfinite(known)]
                    known = np.quantile(finite, [0.005, 0.995]) if len(finite) else finite
                parts.append(known)
    if chart.level is not None:
        parts.append(np.array([chart.level[0]]))
    return np.concatenate(parts)


def _spans_decades(finite: Floats) -> bool:
    low, high = np.quantile(finite, [0.02, 0.98])
    return bool(finite.min() > 0 and high / low > DECADES)


def _decades(low: float, high: float) -> list[int]:
    powers = list(range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1))
    return powers[:: max(1, math.ceil(len(powers) / 7))] or [round(low)]


def _power(exponent: int) -> str:
    if -3 <= exponent <= 3:
        return f"{10**exponent:,}" if exponent >= 0 else f"{10.0**exponent:.{-exponent}f}"
    return f"1e{exponent}"


def _linear_range(chart: Chart, finite: Floats) -> tuple[float, float, str]:
    low, high, note = float(finite.min()), float(finite.max()), ""
    if chart.robust and chart.kind == "lines" and len(finite) >= 20:
        inner_low, inner_high = (float(q) for q in np.quantile(finite, [0.01, 0.99]))
        middle = inner_high - inner_low
        if middle > 0 and high - low > 4 * middle:
            below, above = low, high
            low, high = max(low, inner_low - middle / 2), min(high, inner_high + middle / 2)
            outside = int(((finite < low) | (finite > high)).sum())
            ends = [number(end, 3) for end in (below, above) if not low <= end <= high]
            note = (
                f"{outside} outlier{'s' * (outside > 1)} beyond the picture, "
                f"as far as {' and '.join(ends)}."
            )
    if chart.from_zero or chart.kind in ("bars", "stack"):
        low, high = min(low, 0.0), max(high, 0.0)
    if chart.kind == "stack":
        return low, high, note
    span = high - low
    if not span > abs(high) * 1e-9:
        span = abs(high) * 0.2 or 1.0
        return (0.0, 1.0, note) if high == 0 else (low - span, high + span, note)
    pad = 0.06 * span
    bottom = low if low == 0 else low - pad
    return bottom, high + pad, note
