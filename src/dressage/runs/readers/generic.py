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


def read_table(
    path: Path, table: Table, mapping: Mapping[str, str], library: str = LIBRARY
) -> RunView:
    view = RunView(path, path.parent.name if path.stem == "metrics" else path.stem, library)
    without_run_names(view, table)
    vocabulary = guess(table.columns)
    view.algo = canonical_algorithm(path.stem)
    add(view, table, vocabulary, mapping)
    return view


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


def without_run_names(view: RunView, table: Table) -> None:
    """Strips "run name - " from the columns of a CSV that W&B exported of one run."""
    matches = {name: _EXPORTED.fullmatch(name) for name in table.columns}
    runs = {match[1] for match in matches.values() if match}
    if len(runs) != 1:
        if len(runs) > 1:
            assemble.note(view, "The table holds several runs side by side: export one run a file.")
        return
    view.library = "wandb"
    view.id = next(iter(runs))[:200]
    table.columns = {
        match[2] if (match := matches[name]) else name: column
        for name, column in table.columns.items()
        if not name.endswith(_ENDS)
    }


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
