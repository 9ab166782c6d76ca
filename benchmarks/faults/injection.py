"""What is done to a clean setting: other settings, wrapped environments, patched code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.faults.setting import Setting

Value = Any  # a plain value, or a function of the setting
Part = tuple[str, Mapping[str, Any]]  # a name and its arguments
INJECTIONS = "benchmarks.faults.injections"


@dataclass(frozen=True)
class Injection:
    config: Mapping[str, Value] = field(default_factory=dict)  # visible, as a person's own settings
    wrappers: tuple[Part, ...] = ()  # `module:Class` of injections/, outermost last; not visible
    code: tuple[Part, ...] = ()  # names in injections/code.CODE; not visible

    def changes(self, setting: Setting) -> dict[str, Any]:
        """The settings as they are to be trained with, without the wrappers."""
        return {
            key: value(setting) if callable(value) else value for key, value in self.config.items()
        }

    def described(self, setting: Setting) -> dict[str, Any]:
        """JSON that says all of it; runs made by another description are made anew."""
        return {
            "algo": setting.algo,
            "env": setting.env,
            "config": {**setting.config, **self.changes(setting)},
            "wrappers": [[name, dict(kwargs)] for name, kwargs in self.wrappers],
            "code": [[name, dict(kwargs)] for name, kwargs in self.code],
        }


CLEAN = Injection()
Levels = tuple[Injection, Injection, Injection]


def levels(
    config: Mapping[str, Any] | None = None,
    wrap: Mapping[str, Mapping[str, Any]] | None = None,
    code: Mapping[str, Mapping[str, Any]] | None = None,
) -> Levels:
    """Three severities; a tuple stands for one value each, anything else for all three."""

    def at(i: int) -> Injection:
        return Injection(
            _pick(config or {}, i),
            tuple((name, _pick(kwargs, i)) for name, kwargs in (wrap or {}).items()),
            tuple((name, _pick(kwargs, i)) for name, kwargs in (code or {}).items()),
        )

    return at(0), at(1), at(2)


def _pick(values: Mapping[str, Any], i: int) -> dict[str, Any]:
    return {key: v[i] if isinstance(v, tuple) else v for key, v in values.items()}


def times(name: str, *factors: float) -> tuple[Callable[[Setting], Any], ...]:
    """The clean value of a setting, a schedule's ends too, multiplied; one for each severity."""

    def scaled(factor: float) -> Callable[[Setting], Any]:
        return lambda setting: _multiplied(setting.config[name], factor)

    return tuple(scaled(factor) for factor in factors)


def _multiplied(value: Any, factor: float) -> Any:
    if not isinstance(value, str):
        return type(value)(value * factor)
    head, _, rest = value.partition("(")  # linear(1e-3, 0, until=0.5)
    first, second, *others = re.split(r",\s*", rest.rstrip(")"))
    ends = [f"{float(end) * factor:g}" for end in (first, second)]
    return f"{head}({', '.join([*ends, *others])})"


def budget_shares(*shares: float) -> tuple[Callable[[Setting], int], ...]:
    """A number of env steps, as a share of the setting's budget; one for each severity."""

    def of(share: float) -> Callable[[Setting], int]:
        return lambda setting: max(1, round(setting.env_steps * share))

    return tuple(of(share) for share in shares)
