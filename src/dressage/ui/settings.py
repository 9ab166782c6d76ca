"""The resolved config, grouped by the class that declares each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dressage.runs.find import find, runs_root
from dressage.runs.group import Group
from dressage.runs.run import Run
from dressage.ui.tables import Cell, Column, table

SOURCE_STYLES = {"default": "dim", "preset": "cyan", "file": "yellow", "override": "green"}


@dataclass(frozen=True)
class Entry:
    """One setting: its value and where that came from."""

    section: str
    name: str
    value: Any
    source: str
    meaning: str


def config_of(
    env: str | None,
    overrides: Mapping[str, Any],
    config: Path | None,
    runs: Path | None,
    *,
    preset: bool = True,
) -> list[Entry]:
    """What `train` would use for these settings, or what the run of that name had."""
    from dressage.api import resolve_config

    if env is not None and _names_a_run(env, runs_root(runs)):
        return _stored(find(env, runs_root(runs)))
    resolved = resolve_config(env, config=config, preset=preset, **overrides)
    models = {"run": type(resolved.run), resolved.run.algo: type(resolved.cfg)}
    return _entries(resolved.values(), resolved.sources, models)


def _stored(run: Run | Group) -> list[Entry]:
    """As its files say: nothing is validated, and no algorithm of a person's own is imported."""
    from dressage.algos import ALGORITHMS, load_algorithm
    from dressage.core.config import RunConfig

    values = run.config
    sources = run.members[0].sources
    algo = str(values.get("algo"))
    models: dict[str, Any] = {"run": RunConfig}
    if algo in ALGORITHMS:
        models[algo] = load_algorithm(algo).Config
    found = _entries(values, sources, models)
    known = {entry.name for entry in found}
    return found + [
        Entry(algo, name, value, sources.get(name, "default"), "")
        for name, value in values.items()
        if name not in known
    ]


def _entries(
    values: Mapping[str, Any], sources: Mapping[str, str], models: Mapping[str, Any]
) -> list[Entry]:
    return [
        Entry(
            _section(model, name, title),
            name,
            values[name],
            sources.get(name, "default"),
            field.description or "",
        )
        for title, model in models.items()
        for name, field in model.model_fields.items()
        if name in values
    ]


def _names_a_run(word: str, root: Path) -> bool:
    places = (root / word, Path(word))
    marks = ("config.json", "group.json")
    return word.startswith("@") or any((p / mark).is_file() for p in places for mark in marks)


def _section(model: Any, name: str, title: str) -> str:
    """A group of fields says what it is about; what the algorithm adds bears its name."""
    owner = next(
        base for base in reversed(model.__mro__) if name in getattr(base, "__annotations__", {})
    )
    return title if owner is model else getattr(owner, "GROUP", title)


def print_config(console: Console, entries: Sequence[Entry]) -> None:
    for section in dict.fromkeys(entry.section for entry in entries):
        chosen = [entry for entry in entries if entry.section == section]
        columns = [
            Column(section),
            Column("value", fold=True),
            Column("from"),
            Column("meaning", drop=1, style="dim"),
        ]
        rows: list[list[Cell]] = [
            [
                entry.name,
                Text(_shown(entry.value), "" if entry.source == "default" else "bold"),
                Text(entry.source, SOURCE_STYLES.get(entry.source, "")),
                entry.meaning,
            ]
            for entry in chosen
        ]
        console.print(table(columns, rows, console.width))
        console.print()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def yaml_of(entries: Sequence[Entry]) -> str:
    import yaml

    return str(yaml.safe_dump({entry.name: entry.value for entry in entries}, sort_keys=False))
