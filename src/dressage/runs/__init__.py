"""The run directory: writing it, reading it, finding it (`dressage.runs.find`)."""

from __future__ import annotations

from dressage.runs.checkpoint import (
    Checkpoint,
    Latest,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
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
    "latest_checkpoint",
    "load_checkpoint",
    "save_checkpoint",
    "write_group",
]
