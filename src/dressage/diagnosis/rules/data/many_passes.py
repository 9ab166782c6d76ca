"""DAT009."""

from __future__ import annotations

import math

from dressage.diagnosis.look import counts, number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ManyPasses(Rule):
    """Each rollout is gone over very many times.

    Why it hurts
        Late passes fit the noise of data that the policy has long left.

    Evidence
        Passes over a rollout, as configured or as logged.

    Threshold and source
        More than 30 (guess; 3 to 20 is usual).

    Prescription
        n_epochs 3 to 10, a KL limit of 0.015.

    Known false alarms
        Tiny learning rates that are meant for it.

    References
        higgsfield/RL-Adventure-2 issue 10.
    """

    id = "DAT009"
    name = "many-passes"
    family = "data"
    severity = "medium"
    families = ("on-policy",)
    either = ("n_epochs", "train/metrics/epochs_done", "train/cnt/epochs")
    thresholds = {"passes": Threshold(30.0, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "too-many-epochs": 0.9,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        passes = number(run, "n_epochs")
        if math.isnan(passes):
            passes = counts(run).epochs
        if not passes > self.bound("passes"):
            return None
        return self.found(
            f"Each rollout is gone over {passes:.0f} times; 3 to 20 is usual.",
            "train/metrics/epochs_done",
            passes=passes,
        )
