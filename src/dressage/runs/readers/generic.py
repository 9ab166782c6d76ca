"""Logs that any library may have written: CSV, JSON lines, event files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dressage.errors import RunError, did_you_mean
from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.readers import assemble
from dressage.runs.readers.event_files import Events
from dressage.runs.readers.tables import Table
from dressage.runs.readers.vocabulary import ENV_STEPS, GUESSED, Vocabulary, guess
from dressage.runs.view import RunView

LIBRARY = "table"
_EXPORTED = re.compile(r"(.+) - (.+)")  # W&B's "run name - metric"
_ENDS = ("__MIN", "__MAX")  # W&B's bounds beside each metric


def read_table(path: Path, table: Table, mapping: Mapping[str, str]) -> list[RunView]:
    """One view; of a CSV that W&B exported, one for each run whose columns stand in it."""
    views = []
    for run, part in by_run(table).items():
        name = path.parent.name if path.stem == "metrics" else path.stem
        view = RunView(path, run[:200] or name, "wandb" if run else LIBRARY)
        view.algo = canonical_algorithm(path.stem)
        add(view, part, guess(part.columns), mapping)
        views.append(view)
    return views


def add(view: RunView, table: Table, vocabulary: Vocabulary, mapping: Mapping[str, str]) -> None:
    theirs = mapping.get("env_steps")
    if theirs is not None and theirs not in table.columns:
        raise RunError(
            f"{table.path.name} has no column of numbers named '{theirs}'."
            f"{did_you_mean(theirs, list(table.columns))}"
        )
    candidates = (theirs,) if theirs is not None else (*vocabulary.clock, *ENV_STEPS)
    clock = assemble.clock_or_rows(view, table, candidates)
    used = next((name for name in candidates if name in table.columns), None)
    if used in GUESSED and theirs is None:
        assemble.note(
            view,
            f"Column '{used}' was taken for env steps; if it counts something else, "
            "--map env_steps=NAME tells which column does.",
        )
    if used is not None:
        view.own_names["env_steps"] = used
    assemble.add_table(view, table, clock, vocabulary.names, [used] if used else [])


def by_run(table: Table) -> dict[str, Table]:
    """W&B exports "run name - metric", with bounds of each; columns without a run go to all."""
    matches = {name: _EXPORTED.fullmatch(name) for name in table.columns}
    runs = dict.fromkeys(match[1] for match in matches.values() if match)
    if not runs:
        return {"": table}
    shared = {name: column for name, column in table.columns.items() if not matches[name]}
    parts = {run: Table(table.path, table.rows, dict(shared), notes=table.notes) for run in runs}
    for name, match in matches.items():
        if match and not name.endswith(_ENDS):
            parts[match[1]].columns[match[2]] = table.columns[name]
    return parts


def read_events_as(path: Path, events: Events, mapping: Mapping[str, str]) -> RunView:
    """Event files of no library in particular."""
    view = RunView(path, (path.parent if path.is_file() else path).name, LIBRARY)
    view.algo = canonical_algorithm(view.id)
    clock = mapping.get("env_steps")
    if clock is not None:
        events = _reclocked(events, clock)
    assemble.add_events(view, events, guess(events.scalars).names)
    return view


def _reclocked(events: Events, clock: str) -> Events:
    """Steps replaced by the values of the tag that counts env steps."""
    if clock not in events.scalars:
        raise RunError(f"There is no tag '{clock}'.{did_you_mean(clock, list(events.scalars))}")
    known = events.scalars[clock]
    order = np.argsort(known.steps, kind="stable")
    return Events(
        {
            tag: part._replace(steps=np.interp(part.steps, known.steps[order], known.values[order]))
            for tag, part in events.scalars.items()
        },
        events.texts,
        events.notes,
    )
