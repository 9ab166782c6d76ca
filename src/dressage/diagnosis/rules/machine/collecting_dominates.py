"""MAC003."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import members
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CollectingDominates(Rule):
    """Nearly all of the time goes to stepping the environments.

    Why it hurts
        The learner waits: more environments at once, or a faster way to step them, would
        make the run faster.

    Evidence
        The time of collecting over that of the whole loop.

    Threshold and source
        Above 90 % (guess).

    Prescription
        More environments, or another backend; worker processes only where a step is costly.

    Known false alarms
        Environments that are costly by nature.

    References
        The cause hardware-underused.
    """

    id = "MAC003"
    name = "collecting-dominates"
    family = "machine"
    severity = "low"
    needs = ("sys/time/update", "sys/time/collect")
    thresholds = {"share": Threshold(0.9, "guess")}
    elsewhere = 0.01
    expected = {
        "hardware-underused": 0.8,
        "throughput-decay": 0.4,
        "updates-starved": 0.2,
        "updates-too-few": 0.2,
        "healthy": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        parts = members(run, "sys/time/*")
        total = {name: float(np.nansum(series.values)) for name, series in parts.items()}
        whole = sum(total.values())
        if not whole > 0 or not total.get("update", 0.0) > 0:
            return None
        share = total.get("collect", 0.0) / whole
        if not share > self.bound("share"):
            return None
        return self.found(
            f"{share:.0%} of the time goes to stepping the environments.",
            "sys/time/collect",
            share=share,
        )
