"""Numbers and times as people read them, and JSON as machines do."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MISSING = "–"


def count(value: float | None) -> str:
    """`100,000`"""
    return MISSING if value is None or not math.isfinite(value) else f"{value:,.0f}"


def short_count(value: float) -> str:
    """`100k`, `2.5M`: for axes."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.0f}"


def number(value: float | None) -> str:
    """A return or another real number: four digits that mean something, and no noise."""
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    if size >= 1e7 or 0 < size < 1e-3:
        return f"{value:.3g}"
    if value == round(value):
        return f"{value:,.0f}"
    decimals = 0 if size >= 10_000 else 1 if size >= 100 else 2 if size >= 1 else 4
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text and size < 1 else text


def duration(seconds: float | None) -> str:
    """`0:07`, `12:30`, `3:05:00`, `2 d 03:00`"""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    total = round(max(0.0, seconds))
    days, rest = divmod(total, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days} d {hours:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def strict(value: Any) -> Any:
    """The same value with what JSON has no word for (NaN, infinity) as null."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [strict(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays, which this module does not import
        return strict(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def one_line_json(value: Any) -> str:
    return json.dumps(strict(value), allow_nan=False, default=str)
