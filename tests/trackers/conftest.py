"""Trackers are tried against the real packages, offline, in folders that go away."""

from __future__ import annotations

import os
import tempfile

import pytest

# Trackio reads this when it is first imported.
_FOLDER = tempfile.TemporaryDirectory(prefix="dressage-trackio-")
os.environ["TRACKIO_DIR"] = _FOLDER.name


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("WANDB_", "MLFLOW_", "TRACKIO_")) and name != "TRACKIO_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_MODE", "offline")
