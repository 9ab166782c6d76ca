"""Trackers by name: copies of a run's rows in TensorBoard, W&B, MLflow or Trackio."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dressage.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from dressage.runs.writer import RunWriter
    from dressage.trackers.tracker import Tracker

TRACKERS = {
    "tensorboard": "dressage.trackers.tensorboard:TensorBoard",
    "wandb": "dressage.trackers.wandb:Wandb",
    "mlflow": "dressage.trackers.mlflow:Mlflow",
    "trackio": "dressage.trackers.trackio:Trackio",
}


def make_trackers(
    names: Sequence[str],
    run_path: Path,
    config: Mapping[str, Any],
    writer: RunWriter | None = None,
) -> list[Tracker]:
    """The hooks behind `trackers=`; raises ConfigError for an unknown one or a missing package.

    `writer` takes the warning of a tracker that fails while the run goes on.
    """
    return [find_tracker(name)(run_path, config, writer) for name in dict.fromkeys(names)]


def find_tracker(name: str) -> type[Tracker]:
    """The class behind a name, its package known to be installed but not yet imported."""
    if name not in TRACKERS:
        raise ConfigError(
            f"There is no tracker '{name}'; known: {', '.join(TRACKERS)}."
            f"{did_you_mean(name, list(TRACKERS))}"
        )
    module, _, attribute = TRACKERS[name].partition(":")
    found: type[Tracker] = getattr(importlib.import_module(module), attribute)
    for needed in found.modules():
        if importlib.util.find_spec(needed) is None:
            raise ConfigError(
                f"trackers={name} needs the package {needed}, which is not installed: "
                f"pip install 'dressage[{name}]'"
            )
    return found
