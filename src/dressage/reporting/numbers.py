"""Numbers as people read them: four significant digits, thousands apart, k and M on axes."""

from __future__ import annotations

import json
import math
from typing import Any

UNKNOWN = "–"


def number(value: float | None, digits: int = 4) -> str:
    """1234567 as 1,234,567; 0.00136808 as 0.001368; 1.2e-7 as 1.2e-7."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude >= 1e12 or magnitude < 1e-4:
        return _scientific(value, digits)
    if magnitude >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    decimals = digits - 1 - math.floor(math.log10(magnitude))
    return _trim(f"{value:.{decimals}f}")


def _scientific(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{_trim(mantissa)}e{int(exponent)}"


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole(value: float | None) -> str:
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.0f}"


def percent(share: float) -> str:
    return UNKNOWN if not math.isfinite(share) else f"{_trim(f'{100 * share:.1f}')} %"


def signed(value: float) -> str:
    return f"+{number(value, 3)}" if value > 0 else number(value, 3)


def tick_labels(ticks: list[float]) -> list[str]:
    """Labels of an axis, all in one unit, with as many decimals as their distance needs: 2.5k."""
    size = max((abs(tick) for tick in ticks), default=0.0)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else size
    if 0 < size < 1e-3:
        return [_scientific(tick, 3) if tick else "0" for tick in ticks]
    units = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
    _, mark = next((unit for unit in units if size >= unit[0]), (1.0, ""))
    scale = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0}[mark]
    places = 0
    while places < 6 and abs(step / scale * 10**places - round(step / scale * 10**places)) > 1e-6:
        places += 1
    return [f"{tick / scale:,.{places}f}{mark}" if tick else "0" for tick in ticks]


def duration(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 60:
        return f"{number(seconds, 3)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    return f"{hours // 24} d {hours % 24} h"


def interval(low: float, high: float) -> str:
    return f"[{number(low)}, {number(high)}]" if math.isfinite(low) and math.isfinite(high) else ""


def clean(value: Any, limit: int = 400) -> str:
    """Text of a run as one printable line: neither control marks nor reversed writing survive."""
    try:
        text = value if isinstance(value, str) else str(value)
    except ValueError:  # Python refuses to print an integer of more than 4,300 digits
        text = f"a huge {type(value).__name__}"
    cut = text[: limit + 1]
    text = " ".join("".join(c if c.isprintable() else " " for c in cut).split())
    return text if len(cut) <= limit else text[: limit - 1] + "…"


def value_text(value: Any) -> str:
    """A value of a config or an event, whatever it is."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return clean(value)
