"""Commands whose words and paths are taken as they are.

Typer (0.27 and later) makes a pydantic adapter for each option when it is used, and imports
pydantic for that: a quarter of the time of `dressage diagnose`, whose options are all flags, texts,
paths and lists of texts. Where Typer works in another way, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

PLAIN = (bool, str, Path, list[str])


class Plain:
    """Stands where Typer keeps the adapter of an option."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return list(value) if self.kind == list[str] else self.kind(value)


class QuickCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _quicken(self.get_params(ctx))
        return super().parse_args(ctx, args)


class QuickGroup(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _quicken(self.get_params(ctx))
        return super().parse_args(ctx, args)


def _quicken(params: Iterable[Any]) -> None:
    for param in params:
        kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        if kind in PLAIN and hasattr(param, "_runtime_param"):
            param._runtime_param = Plain(kind)
