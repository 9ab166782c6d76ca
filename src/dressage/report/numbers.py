"""Numbers as people read them: four significant digits, thousands apart, k and M on axes."""

from __future__ import annotations

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


def short(value: float, step: float = 0.0) -> str:
    """An axis label, with as many decimals as the distance between labels needs: 2.5k, 10M."""
    if value == 0:
        return "0"
    size = max(abs(value), step)
    for limit, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit:
            return f"{_decimals(value / limit, step / limit)}{mark}"
    if 0 < size < 1e-3:
        return _scientific(value, 3)
    return _decimals(value, step)


def _decimals(value: float, step: float) -> str:
    if step <= 0:
        return _trim(f"{value:.3g}")
    places = 0
    while places < 6 and abs(step * 10**places - round(step * 10**places)) > 1e-6:
        places += 1
    return f"{value:.{places}f}"


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
