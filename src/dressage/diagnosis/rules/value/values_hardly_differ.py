"""VAL043."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesHardlyDiffer(Rule):
    """All states and actions are valued alike, and the errors stay.

    Why it hurts
        The values know the mean of what comes, and nothing that would tell one state or action
        from another.

    Evidence
        The largest predicted action value beside the mean one, and the TD error, late in the
        run.

    Threshold and source
        A largest value within 6 % of the mean, and an error above 2 % of it (our labelled runs:
        13 % and more where healthy; where rewards are alike and the discount low, values are
        alike and the error is 1 %).

    Prescription
        Look at whether observations vary and belong to their steps in the memory.

    Known false alarms
        Tasks in which all states are worth the same.

    References
        The causes obs-constant and replay-corrupted.
    """

    id = "VAL043"
    name = "values-hardly-differ"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/q_max", "train/metrics/q_mean", "train/metrics/td_error_mean")
    thresholds = {
        "above": Threshold(0.06, "our labelled runs, 2026-11-16"),
        "error": Threshold(0.02, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "obs-constant": 0.9,
        "replay-corrupted": 0.5,
        "partial-observability": 0.5,
        "shape-broadcast": 0.3,
        "reward-scale-too-large": 0.2,
        "weight-decay-too-strong": 0.3,
        "network-too-small": 0.2,
        "features-frozen": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        highest = part(run["train/metrics/q_max"], 0.6)
        mean = median(run["train/metrics/q_mean"], 0.6)
        error = median(run["train/metrics/td_error_mean"], 0.6)
        if not len(highest) or not abs(mean) > 0:
            return None
        above = (float(np.median(highest)) - mean) / abs(mean)
        if not above < self.bound("above") or not error > self.bound("error") * abs(mean):
            return None
        return self.found(
            f"The largest action value is {above:.1%} above the mean of {mean:.3g}, and the TD "
            f"error {error:.2g}.",
            "train/metrics/q_max",
            above=above,
            error=error,
        )
