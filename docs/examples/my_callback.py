"""A callback that logs a metric of its own, stops a run that no longer gets better, and resumes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dressage.core.hooks import Hook, Moment

PATIENCE = 3  # evaluations without a better one


class StopWhenFlat(Hook):
    def __init__(self) -> None:
        self.best = -math.inf
        self.without_progress = 0

    def on_iteration(self, moment: Moment) -> None:
        moment.log("my/evaluations_without_progress", self.without_progress)

    def on_evaluation(self, moment: Moment) -> None:
        mean = moment.metrics["val/roll/ep_rew_mean"]
        self.without_progress = 0 if mean > self.best else self.without_progress + 1
        self.best = max(self.best, mean)
        if self.without_progress >= PATIENCE:
            moment.stop(f"no better evaluation than {self.best:g} in the last {PATIENCE}")

    # What must survive a resume: JSON, saved with every checkpoint.

    def state(self) -> dict[str, Any]:
        best = None if math.isinf(self.best) else self.best
        return {"best": best, "without_progress": self.without_progress}

    def load(self, state: Mapping[str, Any]) -> None:
        self.best = -math.inf if state["best"] is None else float(state["best"])
        self.without_progress = int(state["without_progress"])
