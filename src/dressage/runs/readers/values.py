"""Values of other libraries' settings in our form: numbers out of texts, schedules, activations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dressage.errors import ConfigError
from dressage.math.schedules import NUMBER, Schedule, parse_schedule

_ACTIVATION = re.compile(r"\b(tanh|relu|gelu|elu|silu|sigmoid|leakyrelu|identity)\b", re.I)
_OPTIMIZER = re.compile(r"\b(rmsproptflike|rmsprop|adamw|adam|sgd|lamb)\b", re.I)
_WIDTHS = re.compile(r"\[([0-9,\s]*)\]")
_ZOO = re.compile(r"(lin|linear|log|const)_([0-9.eE+-]+)")
_CALL = re.compile(r"(?s)\s*(?:FloatSchedule\()?(Constant|Linear)Schedule\(([^()]*)\)\)?\s*")
_DEPTH = 12


def plain_value(value: Any) -> Any:
    """A number, truth or None where a text is one."""
    if isinstance(value, str):
        text = value.strip()
        if NUMBER.fullmatch(text):
            return _number(text)
        return {"true": True, "false": False, "none": None, "null": None}.get(text.lower(), value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**1000:
        return math.inf
    return value


def _number(text: str) -> float | int:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII):
        return int(text)
    return float(text)


def scheduled(value: Any) -> Any:
    """A number, or a schedule as our text, from what other libraries write; None where it is
    neither."""
    value = plain_value(value)
    if isinstance(value, Mapping):
        return scheduled_mapping(value)
    if not isinstance(value, str):
        return value
    if zoo := _ZOO.fullmatch(value.strip()):
        start = plain_value(zoo[2])
        if zoo[1].startswith("lin"):
            return schedule_text("linear", start, 0.0)
        return start if zoo[1] == "const" else None
    if call := _CALL.fullmatch(value[:500]):
        numbers = dict(re.findall(r"(\w+)=([0-9.eE+-]+)", call[2]))
        if call[1] == "Constant":
            return plain_value(numbers.get("val"))
        return sb3_linear(numbers)
    if value.startswith("auto"):  # a learned temperature
        return value
    try:
        return str(parse_schedule(value))
    except ConfigError:
        return None


def scheduled_mapping(value: Mapping[str, Any]) -> Any:
    """gymnasium-solver's {start, end, to, schedule}, SB3's schedules in a zip, and our own."""
    if "value_schedule" in value:  # SB3: FloatSchedule
        return scheduled(value["value_schedule"])
    if "end_fraction" in value:
        return sb3_linear(value)
    if "kind" in value:
        try:
            return str(parse_schedule(value))
        except (ConfigError, TypeError):
            return None
    if "start" in value and "end" in value:
        kind = str(value.get("schedule", "linear"))
        return schedule_text(kind, value["start"], value["end"], until=value.get("to", 1.0))
    return None


def sb3_linear(numbers: Mapping[str, Any]) -> Any:
    return schedule_text(
        "linear", numbers.get("start"), numbers.get("end"), until=numbers.get("end_fraction", 1.0)
    )


def schedule_text(kind: str, start: Any, end: Any, until: Any = 1.0) -> Any:
    """`linear(0.0003, 0)`; the start alone where the rest makes no schedule of ours."""
    start, end, until = (plain_value(part) for part in (start, end, until))
    try:
        if start == end:
            return start
        return str(Schedule(kind, float(start), float(end), until=min(float(until), 1.0)))
    except (ConfigError, TypeError, ValueError, OverflowError):
        return start if isinstance(start, (int, float)) else None


def activation(value: Any) -> str | None:
    """`<class 'torch.nn.modules.activation.Tanh'>` and the like."""
    found = _ACTIVATION.findall(str(value)[:500])
    return found[-1].lower() if found else None


def optimizer(value: Any) -> str | None:
    found = _OPTIMIZER.findall(str(value)[:500])
    return found[-1].lower().replace("rmsproptflike", "rmsprop_tf") if found else None


def widths(value: Any) -> Any:
    """Hidden widths: a list, or {policy: …, value: …} from SB3's pi and vf (qf for critics)."""
    if isinstance(value, Mapping):
        parts = {"pi": "policy", "vf": "value", "qf": "value"}
        found = {parts.get(str(key), str(key)): _counts(item) for key, item in value.items()}
        return found if len(found) == 2 else next(iter(found.values()), None)
    if isinstance(value, str):
        lists = [_counts(part.split(",")) for part in _WIDTHS.findall(value[:2000])]
        if len(lists) == 2 and "pi" in value:
            return {"policy": lists[0], "value": lists[1]}
        return lists[0] if len(lists) == 1 else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _counts([value])
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        return widths(value[0])  # SB3 before 1.8: [{pi: …, vf: …}]
    return _counts(value)


def _counts(value: Any) -> list[int] | None:
    if not isinstance(value, (list, tuple)) or len(value) > 100:
        return None
    try:
        return [int(str(part).strip()) for part in value if str(part).strip()]
    except ValueError:
        return None


def flat_config(value: Any, mark: str = "/", before: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested mappings as one, by path; a mapping stays whole under its own name, too."""
    found: dict[str, Any] = {}
    if not isinstance(value, Mapping) or depth > _DEPTH:
        return found
    for key, item in value.items():
        name = f"{before}{key}"
        found[name] = item
        if isinstance(item, Mapping):
            found |= flat_config(item, mark, f"{name}{mark}", depth + 1)
        if len(found) > 20_000:
            break
    return found


SCHEDULED = (
    "learning_rate", "value_learning_rate", "clip_range", "clip_range_vf", "ent_coef", "epsilon",
    "noise_std", "priority_beta",
)  # fmt: skip


def canonical(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of settings under our names in our form; what has no such form is left out."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in SCHEDULED:
            value = scheduled(value)
        elif name == "activation":
            value = activation(value)
        elif name == "optimizer":
            value = optimizer(value)
        elif name == "net_arch":
            value = widths(value)
        else:
            value = plain_value(value)
        if _has_form(value):
            found[name] = value
    return found


def _has_form(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(item, list) for item in value.values())
    return value is not None and _simple(value if isinstance(value, list) else [value])


def _simple(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (str, bool, int, float)) for value in values)
