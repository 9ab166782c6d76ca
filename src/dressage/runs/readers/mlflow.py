"""MLflow: a run's folder of its file store (metrics/<name>, params/<name>, meta.yaml)."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import DressageError, RunError
from dressage.runs.readers import assemble
from dressage.runs.readers.event_files import Events, Scalars
from dressage.runs.readers.safe import read_text, read_yaml, walk
from dressage.runs.readers.tables import CELLS
from dressage.runs.readers.values import plain_value
from dressage.runs.readers.vocabulary import Vocabulary, configure, guess
from dressage.runs.view import RunView, State

LIBRARY = "mlflow"
METRIC = 256 * 2**20  # bytes of one metric's file
PARAM = 100_000  # bytes
STATES: dict[str, State] = {
    "1": "running", "2": "running", "3": "finished", "4": "crashed", "5": "stopped",
    "RUNNING": "running", "FINISHED": "finished", "FAILED": "crashed", "KILLED": "stopped",
}  # fmt: skip
_LINE = re.compile(r"-?[0-9]+ \S+(?: -?[0-9]+)?")


def read(path: Path) -> RunView:
    view = RunView(path, path.name, LIBRARY)
    _add_meta(view)
    own = {
        name: plain_value(text)
        for name, text in _texts(view, path / "params", PARAM).items()
    }  # fmt: skip
    metrics = {
        name: scalars
        for name, text in _texts(view, path / "metrics", METRIC).items()
        if (scalars := _scalars(view, name, text)) is not None
    }
    vocabulary = guess(metrics)
    configure(view, vocabulary, own)
    assemble.add_events(view, Events(_on_env_steps(view, metrics, vocabulary)), vocabulary.names)
    return assemble.finish(view)


def _add_meta(view: RunView) -> None:
    try:
        meta = read_yaml(view.path / "meta.yaml")
    except DressageError as error:
        assemble.note(view, str(error))
        return
    if isinstance(meta, dict):
        view.state = STATES.get(str(meta.get("status")), "unknown")
        view.id = assemble.text_of(meta.get("run_name")) or view.id


def _texts(view: RunView, folder: Path, limit: int) -> dict[str, str]:
    """The content of every file below a folder by its path, which is a name with slashes."""
    found = {}
    for file in walk(folder):
        try:
            found[file.relative_to(folder).as_posix()] = read_text(file, limit)
        except RunError as error:
            assemble.note(view, str(error))
    return found


def _scalars(view: RunView, name: str, text: str) -> Scalars | None:
    """Lines `timestamp value step`; the last one may be half written."""
    lines = text.split("\n")
    if lines.pop():
        assemble.note(view, "The last line is only half written and was left out.")
    stride = max(1, math.ceil(len(lines) * 3 / CELLS))
    if stride > 1:
        assemble.note(view, f"{name} has {len(lines):,} values: one in {stride} was read.")
    rows: list[Any] = []
    for line in lines[::stride]:
        if not _LINE.fullmatch(line):
            continue
        time, value, *step = line.split(" ")
        try:
            rows.append((float(step[0]) if step else len(rows), float(value), float(time) / 1000))
        except ValueError:
            continue
    if len(rows) < len(lines[::stride]):
        assemble.note(view, f"{name} has damaged lines, which were left out.")
    if not rows:
        return None
    table = np.array(rows, np.float64)
    return Scalars(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def _on_env_steps(
    view: RunView, metrics: dict[str, Scalars], vocabulary: Vocabulary
) -> dict[str, Scalars]:
    """Steps are what the writer called so: iterations in RLlib, which logs env steps as well."""
    clock = next((metrics[name] for name in vocabulary.clock if name in metrics), None)
    if clock is None:
        if metrics:
            assemble.note(view, "MLflow's steps were taken for env steps.")
        return metrics
    order = np.argsort(clock.steps, kind="stable")
    steps, values = clock.steps[order], clock.values[order]
    return {
        name: part._replace(steps=np.interp(part.steps, steps, values))
        for name, part in metrics.items()
        if name not in vocabulary.clock
    }
