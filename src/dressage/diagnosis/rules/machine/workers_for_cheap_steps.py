"""MAC031."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WorkersForCheapSteps(Rule):
    """Worker processes step environments that cost less than the way to them.

    Why it hurts
        Sending actions to another process and waiting for the answer takes longer than the step.

    Evidence
        The backend, and the time of collecting for each env step.

    Threshold and source
        Worker processes with less than 1 ms for each env step (guess; a message to another process
        and back takes about 0.1 ms).

    Prescription
        backend=inline, or a batch of environments in one process.

    Known false alarms
        Environments of a fraction of a millisecond on many cores.

    References
        The cause hardware-underused.
    """

    id = "MAC031"
    name = "workers-for-cheap-steps"
    family = "machine"
    severity = "low"
    needs = ("sys/time/collect",)
    settings = ("backend",)
    thresholds = {"seconds": Threshold(1e-3, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "hardware-underused": 0.9,
        "pipeline-bottleneck": 0.05,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        collect = run["sys/time/collect"]
        if run.config.get("backend") != "process" or len(collect.values) < 2:
            return None
        each = median(collect) / max(float(np.median(np.diff(collect.env_steps))), 1.0)
        if not each < self.bound("seconds"):
            return None
        return self.found(
            f"An env step takes {1e3 * each:.2g} ms in worker processes.",
            "sys/time/collect",
            seconds=each,
        )
