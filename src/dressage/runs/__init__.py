"""The run directory: writing it, reading it, finding it."""

from __future__ import annotations

from dressage.runs.checkpoint import (
    Checkpoint,
    Latest,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from dressage.runs.find import find, find_checkpoint, list_runs, runs_root
from dressage.runs.group import Group, write_group
from dressage.runs.metrics import METRICS, Metric, describe
from dressage.runs.run import Run
from dressage.runs.writer import RunWriter

__all__ = [
    "METRICS",
    "Checkpoint",
    "Group",
    "Latest",
    "Metric",
    "Run",
    "RunWriter",
    "describe",
    "find",
    "find_checkpoint",
    "latest_checkpoint",
    "list_runs",
    "load_checkpoint",
    "runs_root",
    "save_checkpoint",
    "write_group",
]
