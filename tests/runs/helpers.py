"""A small run directory, made without any training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.checkpoint import save_checkpoint, set_best
from dressage.runs.writer import RunWriter

COLUMNS = ["train/roll/ep_rew_mean", "train/loss/policy"]


def begin(path: Path, **settings: Any) -> RunWriter:
    config = {"env": "CartPole-v1", "algo": "ppo", "seed": 0, **settings}
    return RunWriter(
        path,
        config=config,
        sources={"seed": "override"},
        spec={"env": "CartPole-v1"},
        system={"python": "3"},
        columns=COLUMNS,
    )


def row(index: int, **more: Any) -> dict[str, Any]:
    return {
        "env_steps": 100 * index,
        "updates": 10 * index,
        "episodes": index,
        "wall_seconds": 0.5 * index,
        "train/roll/ep_rew_mean": 20 + index / 3,
        **more,
    }


def parts() -> dict[str, dict[str, Any]]:
    return {
        "policy": {"weight": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.empty(0)},
        "collector": {"counter": np.array(2**63 + 1, np.uint64), "done": np.array([True, False])},
    }


def small_run(path: Path) -> Path:
    with begin(path) as writer:
        for index in range(3):
            writer.metrics_row(row(index))
            writer.episodes_rows([(100 * index, 20.5, 21, "terminated", None, 0)])
        writer.event("note", 200, text="über")
        writer.log("hello")
        writer.sync()
        save_checkpoint(path, 200, parts(), {"rng": [1, 2]}, writer.offsets())
        set_best(path, 200, {"ep_rew_mean": 20.5})
        writer.status("finished")
    return path
