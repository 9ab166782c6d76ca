"""EXP017."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyIsPunished(Rule):
    """The loss rewards certainty.

    Why it hurts
        A policy that is paid for being certain becomes so, whatever it is certain of.

    Evidence
        The sign of the weighted entropy loss, which is minus the entropy of choices times
        its weight.

    Threshold and source
        Above 1e-4 for a policy of choices (arithmetic: the entropy of choices is never
        negative).

    Prescription
        A weight of 0 to 0.01, and a minus before it in the loss.

    Known false alarms
        Gaussian policies, whose entropy may be negative, and which are left out.

    References
        “The 37 implementation details of PPO”, detail 10.
    """

    id = "EXP017"
    name = "entropy-is-punished"
    family = "exploration"
    severity = "critical"
    families = ("on-policy",)
    needs = ("train/loss/entropy", "train/metrics/entropy")
    thresholds = {"cost": Threshold(0.0001, "guess")}
    elsewhere = 0.01
    expected = {
        "entropy-collapse": 0.8,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        cost = median(run["train/loss/entropy"], 0.0, 0.3)
        if not (cost > self.bound("cost") and median(run["train/metrics/entropy"], 0.0, 0.3) > 0):
            return None
        if run["train/metrics/action_std"]:
            return None
        return self.found(
            f"The entropy adds {cost:.3g} to the loss: the policy is paid for certainty.",
            "train/loss/entropy",
            cost=cost,
        )
