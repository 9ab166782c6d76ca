"""Readers of runs: `read` finds out what it was given and makes one `RunView` a run."""

from __future__ import annotations

from dressage.runs.readers.detect import read

__all__ = ["read"]
