"""Weights & Biases: a run's folder, or a history that was exported as CSV.

The whole history lies in the folder's `run-….wandb` (wandb_log.py). Where that is missing, the
event files that W&B synchronised are read, or the last value of each metric in the summary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import DressageError
from dressage.runs.readers import assemble
from dressage.runs.readers.event_files import is_event_file, read_events
from dressage.runs.readers.generic import add, by_run
from dressage.runs.readers.safe import read_json_file, read_text, read_yaml
from dressage.runs.readers.tables import Column, Table, flat, read_csv
from dressage.runs.readers.vocabulary import configure, guess
from dressage.runs.readers.wandb_log import Log, read_log
from dressage.runs.view import RunView

LIBRARY = "wandb"
EXPORT = (
    "The folder holds no history, only the last value of each metric: export the history as CSV "
    "(run.history().to_csv(…)) and give that file, with --config config.yaml."
)


def read(path: Path, files: list[Path], mapping: Mapping[str, str]) -> RunView:
    view = RunView(path, path.stem if path.is_file() else path.name, LIBRARY)
    by_name = {file.name: file for file in reversed(files)}
    logs = [read_log(file) for file in files if file.suffix == ".wandb"]
    own = assemble.merged(_own_config(view, by_name), *(log.config for log in logs))
    tables = [_history(view, log) for log in logs if log.table.rows]
    if not tables:
        assemble.note(view, *(sentence for log in logs for sentence in log.table.notes))
        exported = [read_csv(file) for file in files if file.suffix == ".csv"]
        tables = [table for whole in exported for table in by_run(whole).values()][:1]
    events = [file for file in files if is_event_file(file)]
    tags = read_events(events) if events and not tables else None
    names = [name for table in tables for name in table.columns] or list(
        tags.scalars if tags else ()
    )
    summary = None
    if not names and "wandb-summary.json" in by_name:
        summary = _summary(view, by_name["wandb-summary.json"])
        names = list(summary.columns) if summary else []
    vocabulary = guess(names)
    configure(view, vocabulary, own)
    for table in [*tables, *([summary] if summary else [])]:
        add(view, table, vocabulary, mapping)
    if tags:
        assemble.add_events(view, tags, vocabulary.names)
    if summary or not names:
        assemble.note(view, EXPORT)
    if "output.log" in by_name:
        try:
            assemble.add_log(view, read_text(by_name["output.log"]))
        except DressageError as error:
            assemble.note(view, str(error))
    return assemble.finish(view, files)


def _history(view: RunView, log: Log) -> Table:
    view.id = log.name or view.id
    if log.exit_code is not None:
        view.state = "crashed" if log.exit_code else "finished"
    if "_runtime" in log.table.columns:
        log.table.columns.setdefault("wall_seconds", log.table.columns.pop("_runtime"))
    return log.table


def _own_config(view: RunView, by_name: Mapping[str, Path]) -> dict[str, Any]:
    if "config.yaml" not in by_name:
        return {}
    try:
        return unwrapped(read_yaml(by_name["config.yaml"]))
    except DressageError as error:
        assemble.note(view, str(error))
        return {}


def unwrapped(content: Any) -> dict[str, Any]:
    """W&B writes each setting as {desc: …, value: …}."""
    if not isinstance(content, dict):
        return {}
    return {
        key: item["value"] if isinstance(item, dict) and "value" in item else item
        for key, item in content.items()
        if key not in ("wandb_version", "_wandb")
    }


def _summary(view: RunView, file: Path) -> Table | None:
    """The last value of each metric, as a table of one row."""
    try:
        content = read_json_file(file)
    except DressageError as error:
        assemble.note(view, str(error))
        return None
    values = {
        name: value
        for name, value in flat(content)
        if isinstance(value, float) and not math.isnan(value)
    }
    row = np.zeros(1, np.int64)
    columns = {name: Column(row, np.array([value])) for name, value in values.items()}
    return Table(file, 1, columns) if columns else None
