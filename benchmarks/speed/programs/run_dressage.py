"""Training with dressage, recording as by default; it evaluates only where asked: no peer does."""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import Stopwatch, order, tell

import dressage
from dressage.core.hooks import Hook, Moment


class Watch(Hook):
    """Notes when the first iteration and the whole loop are over, and how long after a row."""

    def __init__(self, learning_starts: int) -> None:
        self.learning_starts = learning_starts  # env steps without updates
        self.stopwatch, self.result = Stopwatch(), {}
        self.row_at = self.after_last_row = 0.0

    def on_iteration(self, moment: Moment) -> None:
        if moment.env_steps > self.learning_starts:
            self.stopwatch.first_iteration_over(moment.env_steps)

    def on_row(self, moment: Moment) -> None:
        self.row_at = time.perf_counter()

    def on_end(self, moment: Moment) -> None:
        self.result = self.stopwatch.end(moment.env_steps)
        self.after_last_row = time.perf_counter() - self.row_at


def main() -> None:
    asked = order()
    options = asked["options"]
    settings: dict[str, Any] = asked["hyper"] | asked["ours"]
    for key in ("engine", "threads", "seeds"):
        if key in options:
            settings[key] = options[key]
    if not options.get("evaluate"):
        settings |= {"eval_every": 0, "final_eval_episodes": 0}
    if asked["algo"] == "ppo":
        settings["n_steps"] = asked["n_steps"]
    watch, grouped = Watch(settings.get("learning_starts", 0)), settings.get("seeds", 1) > 1
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = dressage.train(
            asked["env"],
            algo=asked["algo"],
            preset=False,
            runs=folder,
            seed=asked["seed"],
            env_steps=asked["env_steps"],
            n_envs=asked["n_envs"],
            wrappers=asked["wrappers"],
            normalize_obs=asked["normalize"],
            normalize_reward=asked["normalize"],
            hooks=() if grouped else (watch,),
            **settings,
        )
        seconds = time.perf_counter() - began
        found = {"train_call_seconds": seconds, "training_seconds": training_seconds(run)}
        if not grouped:
            path = Path(run.path) / "metrics.csv"
            found |= watch.result | columns(path, watch.after_last_row)
            found["torch_imported"] = "torch" in sys.modules
        found["engine"] = run.members[0].system.get("engine")
        statuses = {member.status for member in run.members}
    if statuses != {"finished"}:
        raise SystemExit(f"the run is {statuses}, expected finished")
    tell(found, ["dressage", "numpy", "torch", "gymnasium", "mujoco", "ale-py"])


def training_seconds(run: Any) -> float:
    """From the first member's beginning to the last one's end, as their files tell."""
    from dressage.runs.files import read_json

    told = [read_json(member.path / "status.json") for member in run.members]
    ends = [datetime.fromisoformat(t["time"]) for t in told]
    return (max(ends) - min(datetime.fromisoformat(t["started"]) for t in told)).total_seconds()


def columns(path: Path, last_checkpoint: float) -> dict[str, Any]:
    """The header, the last return, and where the time went by the run's own account.

    The last checkpoint is written after the last row, which cannot tell its seconds.
    """
    with path.open() as file:
        rows = list(csv.DictReader(file))
    number = lambda row, name: float(row[name] or 0.0)  # noqa: E731
    header = list(rows[0])
    phases = {n: sum(number(r, n) for r in rows) for n in header if n.startswith("sys/time/")}
    phases["sys/time/checkpoint"] += last_checkpoint
    wall = number(rows[-1], "wall_seconds") + last_checkpoint
    returns = [r["train/roll/ep_rew_mean"] for r in rows if r.get("train/roll/ep_rew_mean")]
    return {
        "return": float(returns[-1]) if returns else None,
        "header": header,
        "shares": {name.removeprefix("sys/time/"): s / wall for name, s in phases.items()},
    }


if __name__ == "__main__":
    main()
