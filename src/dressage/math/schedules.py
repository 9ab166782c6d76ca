"""Numbers that change over a run: learning rate, entropy coefficient, clip range and so on.

A schedule is a function of progress, the share of the budget that is spent, from 0 to 1:

    linear(3e-4, 0)                          from start to end along a line
    cosine(3e-4, 1e-5, warmup=0.05)          half a cosine (Loshchilov and Hutter 2017, SGDR, eq. 5)
    exponential(1e-3, 1e-5)                  start^(1-x) end^x: the same factor in equal times
    logarithmic(1e-2, 0)                     start + (end - start) log10(1 + 9 x): quick, then slow
    polynomial(3e-4, 0, power=2)             end + (start - end) (1 - x)^power
    steps(3e-4, 0.5:1e-4, 0.8:1e-5)          3e-4, from half of the budget on 1e-4, and so on
    constant(3e-4, warmup=0.02)

`warmup` is the fraction of the budget over which the value first rises from 0 to start, along a
line. `until` is the progress at which end is reached (1 unless given); the value stays there. The
shape runs between the two: x = (progress - warmup) / (until - warmup). The moments in `steps` are
progress itself, whatever the warm-up.

The same as a mapping, for YAML and JSON: {kind: linear, start: 3e-4, end: 0, warmup: 0.05} and
{kind: steps, start: 3e-4, changes: [[0.5, 1e-4], [0.8, 1e-5]]}.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

from dressage.errors import ConfigError, did_you_mean

# What each kind takes by position; `until` goes with the kinds that have an end.
POSITIONAL: dict[str, tuple[str, ...]] = {
    "constant": ("start",),
    "linear": ("start", "end"),
    "cosine": ("start", "end"),
    "exponential": ("start", "end"),
    "logarithmic": ("start", "end"),
    "polynomial": ("start", "end", "power"),
    "steps": ("start",),
}
KINDS = tuple(POSITIONAL)
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
CALL = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A number as a function of progress. Construction raises ConfigError on nonsense."""

    kind: str
    start: float
    end: float | None = None  # for the kinds with an end
    power: float = 2.0  # of polynomial
    changes: tuple[tuple[float, float], ...] = ()  # of steps: (progress, value from there on)
    warmup: float = 0.0  # fraction of the budget
    until: float = 1.0  # progress at which end is reached

    def __post_init__(self) -> None:
        _check(self)

    def __call__(self, progress: float) -> float:
        """The value at a progress, which is taken as 0 below 0 and as 1 above 1."""
        progress = min(max(progress, 0.0), 1.0)
        if progress < self.warmup:
            return self.start * (progress / self.warmup)
        if self.end is None:
            value = self.start
            for moment, changed in self.changes:
                if progress >= moment:
                    value = changed
            return value
        x = (progress - self.warmup) / (self.until - self.warmup)
        if x <= 0.0:  # both ends are met exactly, without rounding
            return self.start
        if x >= 1.0:
            return self.end
        return _shape(self.kind, self.start, self.end, self.power, x)

    def __str__(self) -> str:
        """The canonical text, from which `parse_schedule` makes an equal schedule."""
        parts = [_text(self.start)]
        if self.end is not None:
            parts.append(_text(self.end))
        # No space after the colon: YAML would take it for a mapping.
        parts += [f"{_text(moment)}:{_text(value)}" for moment, value in self.changes]
        parts += [f"{name}={_text(value)}" for name, value in self._options().items()]
        return f"{self.kind}({', '.join(parts)})"

    def to_json(self) -> dict[str, Any]:
        """The mapping form, from which `parse_schedule` makes an equal schedule."""
        mapping: dict[str, Any] = {"kind": self.kind, "start": self.start}
        if self.end is not None:
            mapping["end"] = self.end
        if self.changes:
            mapping["changes"] = [list(change) for change in self.changes]
        return mapping | self._options()

    def _options(self) -> dict[str, float]:
        options = {"power": self.power} if self.kind == "polynomial" else {}
        if self.warmup:
            options["warmup"] = self.warmup
        if self.until != 1.0:
            options["until"] = self.until
        return options


def parse_schedule(source: Schedule | Mapping[str, Any] | str | float) -> float | Schedule:
    """A plain number as a float; a text or mapping as a Schedule; ConfigError for the rest."""
    if isinstance(source, Schedule):
        return source
    if isinstance(source, Mapping):
        fields = dict(source)
        return _build(fields.pop("kind", ""), fields, source)
    if isinstance(source, str) and not NUMBER.fullmatch(source.strip()):
        return _parse_text(source)
    return _number(source, "the value")


def at(value: float | Schedule, progress: float) -> float:
    """The value in force at a progress, be it a number or a schedule."""
    return value(progress) if isinstance(value, Schedule) else value


def schedule_in(value: Any) -> Schedule | None:
    """The schedule that a setting's value spells, as text or mapping; None where it is another."""
    if not isinstance(value, (str, dict)):
        return None
    try:
        parsed = parse_schedule(value)
    except ConfigError:
        return None
    return parsed if isinstance(parsed, Schedule) else None


def _parse_text(text: str) -> Schedule:
    call = CALL.fullmatch(text)
    if call is None:
        bare = text.strip().lower()
        hint = f" '{bare}' needs its numbers." if bare in KINDS else did_you_mean(bare, KINDS)
        raise ConfigError(
            f"{_quote(text)} is neither a number nor a schedule such as linear(3e-4, 0)."
            f"{hint} Known kinds: {', '.join(KINDS)}."
        )
    kind, fields = _known_kind(call[1].lower()), dict[str, Any]()
    positional = iter(POSITIONAL[kind])
    for part in call[2].split(",") if call[2].strip() else ():
        name, equals, value = part.partition("=")
        moment, colon, changed = part.partition(":")
        if colon and not equals:
            fields.setdefault("changes", []).append((moment, changed))
            continue
        if not equals:
            name, value = next(positional, ""), part
            if not name:
                raise ConfigError(f"{_quote(text)} has a number too many: {_quote(part)}.")
        if equals and name.strip() == "changes":
            raise ConfigError(f"{_quote(text)}: write the changes as steps(3e-4, 0.5:1e-4).")
        if name.strip() in fields:
            raise ConfigError(f"{_quote(text)} gives {name.strip()} twice.")
        fields[name.strip()] = value
    return _build(kind, fields, text)


def _build(kind: object, fields: dict[str, Any], source: object) -> Schedule:
    kind = _known_kind(kind)
    takes = (*POSITIONAL[kind], "warmup", *(("until",) if "end" in POSITIONAL[kind] else ()))
    takes += ("changes",) if kind == "steps" else ()
    for name in fields:
        if name not in takes:
            raise ConfigError(
                f"{_quote(source)}: {kind} does not take {_quote(name)}."
                f"{did_you_mean(_quote(name)[1:-1], takes)} It takes: {', '.join(takes)}."
            )
    for name in ("start", "end"):
        if name in POSITIONAL[kind] and name not in fields:
            raise ConfigError(f"{_quote(source)}: {kind} needs {name}, as in {kind}(3e-4, 1e-5).")
    changes = fields.pop("changes", ())
    pairs = list(changes.items()) if isinstance(changes, Mapping) else changes
    if not isinstance(pairs, list | tuple) or any(
        not isinstance(pair, list | tuple) or len(pair) != 2 for pair in pairs
    ):
        raise ConfigError(f"{_quote(source)}: changes must be pairs [progress, value].")
    return Schedule(
        kind,
        changes=tuple((_number(m, "a moment"), _number(v, "a value")) for m, v in pairs),
        **{name: _number(value, name) for name, value in fields.items()},
    )


def _known_kind(kind: object) -> str:
    if isinstance(kind, str) and kind in KINDS:
        return kind
    raise ConfigError(
        f"{_quote(kind)} is no kind of schedule.{did_you_mean(_quote(kind)[1:-1], KINDS)}"
        f" Known kinds: {', '.join(KINDS)}."
    )


def _check(schedule: Schedule) -> None:
    kind, start, end, warmup = schedule.kind, schedule.start, schedule.end, schedule.warmup
    _known_kind(kind)
    numbers = [start, warmup, schedule.power, schedule.until, *sum(schedule.changes, ())]
    for number in numbers if end is None else [*numbers, end]:
        _number(number, "a number of the schedule")
    if (end is not None) != ("end" in POSITIONAL[kind]):
        raise ConfigError(f"{kind} {'takes no' if end is not None else 'needs an'} end.")
    if not 0.0 <= warmup < 1.0:
        raise ConfigError(f"warmup is {_text(warmup)}, expected a fraction from 0 to below 1.")
    if not warmup < schedule.until <= 1.0:
        raise ConfigError(
            f"until is {_text(schedule.until)}, expected above warmup ({_text(warmup)}), at most 1."
        )
    if kind == "exponential" and end is not None and not (start > 0.0 and end > 0.0):
        raise ConfigError(
            f"exponential goes from {_text(start)} to {_text(end)}, but both must be above 0: "
            "use a small end such as 1e-6, or linear."
        )
    if schedule.power <= 0.0:
        raise ConfigError(f"power is {_text(schedule.power)}, expected above 0.")
    if schedule.changes and kind != "steps":
        raise ConfigError(f"{kind} takes no changes; steps does.")
    moments = [warmup, *(moment for moment, _ in schedule.changes)]
    if any(b <= a for a, b in pairwise(moments)) or moments[-1] >= 1.0:
        raise ConfigError(
            f"steps changes at {', '.join(map(_text, moments[1:]))}: expected rising progress, "
            f"above warmup ({_text(warmup)}) and below 1."
        )


def _shape(kind: str, start: float, end: float, power: float, x: float) -> float:
    """The value strictly between the ends, 0 < x < 1."""
    if kind == "exponential":
        value = math.pow(start, 1.0 - x) * math.pow(end, x)
    else:
        if kind == "cosine":
            weight = 0.5 * (1.0 - math.cos(math.pi * x))
        elif kind == "logarithmic":
            weight = math.log10(1.0 + 9.0 * x)
        elif kind == "polynomial":
            weight = 1.0 - (1.0 - x) ** power
        else:
            weight = x
        value = (1.0 - weight) * start + weight * end
    low, high = (start, end) if start < end else (end, start)
    return low if value < low else min(value, high)  # rounding must not leave the range


def _number(source: object, name: str) -> float:
    """A finite float from a number or its text (YAML reads 1e-4, without a dot, as text)."""
    number = math.nan
    if isinstance(source, str) and NUMBER.fullmatch(source.strip()):
        number = float(source.strip())
    elif isinstance(source, Real) and not isinstance(source, bool):
        try:
            number = float(source)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise ConfigError(f"{name} is {_quote(source)}, expected a finite number such as 3e-4.")
    return number


def _text(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _quote(found: object) -> str:
    try:
        text = str(found).strip()
    except ValueError:  # Python refuses to print an integer of more than 4,300 digits
        text = f"a huge {type(found).__name__}"
    return repr(text if len(text) <= 60 else text[:57] + "...")
