"""VAL053."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class AdvantagesSayNothing(Rule):
    """Advantages have nothing to do with returns and values.

    Why it hurts
        Without advantages the policy has no gradient but that of chance.

    Evidence
        The correlation of the advantages that are learned from with returns less values.

    Threshold and source
        Between -0.25 and 0.5; it is 1 where advantages are what they should be (by construction).

    Prescription
        Print shapes and a few rows of advantages, returns and values: look for a broadcast, for
        zeros, for another order of the rows.

    Known false alarms
        None known.

    References
        The metric train/metrics/advantages_fit. Stable-Baselines3 #179.
    """

    id = "VAL053"
    name = "advantages-say-nothing"
    family = "value"
    severity = "critical"
    needs = ("train/metrics/advantages_fit",)
    families = ("on-policy",)
    thresholds = {
        "wrong": Threshold(-0.25, "by construction"),
        "fit": Threshold(0.5, "by construction"),
    }
    elsewhere = 0.001
    proof = True
    expected = {
        "dead-policy-gradient": 0.6,
        "shape-broadcast": 0.7,
        "returns-misaligned": 0.3,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        fit = median(run["train/metrics/advantages_fit"])
        if not self.bound("wrong") <= fit < self.bound("fit"):
            return None
        return self.found(
            f"Advantages correlate by {fit:.2f} with returns less values; 1 is right.",
            "train/metrics/advantages_fit",
            fit=fit,
        )
