"""Weights & Biases: online where somebody is logged in, else offline in `<run>/trackers/wandb`.

`WANDB_MODE`, `WANDB_PROJECT` and W&B's other variables stay in force. Offline runs go up later with
`wandb sync`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from dressage.trackers.tracker import EVALUATION_MARK, PROJECT, ROW_MARK, Held, Tracker

INIT_SECONDS = 30.0  # to reach the service; then the run is kept offline


class Wandb(Tracker):
    name = "wandb"

    _run: Any

    def open(self, env_steps: int) -> Held:
        known = self.remembered()
        name = known.get("id") or f"{self.run_path.name[:80]}-{uuid.uuid4().hex[:8]}"
        self.remember(id=name)  # before init: a process killed in between must find it again
        mode = _mode()
        try:
            self._run = self._begin(name, mode)
        except Exception as error:
            if mode == "offline":
                raise
            self._warn(env_steps, f"W&B cannot be reached, the run is kept offline: {error}")
            self._run = self._begin(name, "offline")
        # W&B takes steps in rising order only and cannot be asked offline, so we keep the marks.
        return Held(known.get("row", -1), known.get("evaluation", -1))

    def _begin(self, name: str, mode: Any) -> Any:
        import wandb

        settings = wandb.Settings(
            silent=True, console="off", save_code=False, init_timeout=INIT_SECONDS
        )
        return wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            dir=str(self.folder),
            id=name,
            name=self.run_name,
            group=self.group_name,
            config=self.config,
            mode=mode,
            resume="allow",
            reinit="create_new",  # leaves a run of the user's own alone
            settings=settings,
        )

    def send(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        # W&B holds a step back until it is committed, and drops what comes for it afterwards; of an
        # evaluation and a row at one step the row comes last.
        self._run.log(dict(metrics), step=env_steps, commit=ROW_MARK in metrics)
        if ROW_MARK in metrics:
            self.remember(row=env_steps)
        if EVALUATION_MARK in metrics:
            self.remember(evaluation=env_steps)

    def shut(self, outcome: str) -> None:
        self._run.summary["outcome"] = outcome
        self._run.finish(exit_code=1 if outcome == "failed" else 0)


def _mode() -> str | None:
    """None leaves it to W&B's own settings; without a login it would ask, or refuse."""
    import wandb

    if mode := os.environ.get("WANDB_MODE"):
        return mode
    try:
        logged_in = bool(os.environ.get("WANDB_API_KEY")) or wandb.login(prompt=False)
    except Exception:  # no network, or a version whose login always asks
        logged_in = False
    return None if logged_in else "offline"
