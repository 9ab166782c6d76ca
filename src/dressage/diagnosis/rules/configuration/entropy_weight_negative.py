"""CFG028."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyWeightNegative(Rule):
    """Certainty is paid for.

    Why it hurts
        A negative bonus drives the policy into one action before it knows which is
        good.

    Evidence
        ent_coef in force at the start.

    Threshold and source
        Below 0 (arithmetic).

    Prescription
        ent_coef 0 to 0.01.

    Known false alarms
        Fine-tuning of a policy that is known to be good.

    References
        The cause entropy-collapse.
    """

    id = "CFG028"
    name = "entropy-weight-negative"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    either = ("ent_coef", "train/hp/ent_coef")
    thresholds = {"low": Threshold(0.0, "arithmetic")}
    elsewhere = 0.0005
    expected = {
        "entropy-collapse": 0.5,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = in_force(run, "ent_coef", "train/hp/ent_coef")
        if not value < self.bound("low"):
            return None
        return self.found(
            f"ent_coef is {value:g}; 0 to 0.02 is usual.", "train/hp/ent_coef", ent_coef=value
        )
