"""VAL052."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class AdvantagesOfTheWrongSign(Rule):
    """Advantages are the larger, the worse an action was.

    Why it hurts
        The policy learns to do what earns least.

    Evidence
        The correlation of the advantages that are learned from with returns less values.

    Threshold and source
        Below -0.25; it is 1 where advantages are what they should be (by construction).

    Prescription
        Turn the sign of the advantage, or of the policy loss, round.

    Known false alarms
        None known.

    References
        The metric train/metrics/advantages_fit.
    """

    id = "VAL052"
    name = "advantages-of-the-wrong-sign"
    family = "value"
    severity = "critical"
    needs = ("train/metrics/advantages_fit",)
    families = ("on-policy",)
    thresholds = {"fit": Threshold(-0.25, "by construction")}
    elsewhere = 0.001
    proof = True
    expected = {
        "policy-loss-sign": 0.9,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        fit = median(run["train/metrics/advantages_fit"])
        if not fit < self.bound("fit"):
            return None
        return self.found(
            f"Advantages correlate by {fit:.2f} with returns less values; 1 is right.",
            "train/metrics/advantages_fit",
            fit=fit,
        )
