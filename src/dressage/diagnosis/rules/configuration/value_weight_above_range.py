"""CFG022."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueWeightAboveRange(Rule):
    """The critic’s loss outweighs the policy’s by far.

    Why it hurts
        Where both share layers or one gradient clip, the policy gets what the critic
        leaves.

    Evidence
        vf_coef.

    Threshold and source
        Above 10 (guess; 0.25 to 1 is usual).

    Prescription
        vf_coef 0.5.

    Known false alarms
        Networks that share nothing and are clipped apart, for which a weight only
        scales the rate.

    References
        “The 37 implementation details of PPO”.
    """

    id = "CFG022"
    name = "value-weight-above-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    settings = ("vf_coef",)
    thresholds = {"high": Threshold(10.0, "guess")}
    elsewhere = 0.0005
    expected = {
        "critic-dominates": 0.8,
        "value-lr-mismatch": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "vf_coef")
        if not value > self.bound("high"):
            return None
        return self.found(f"vf_coef is {value:g}; 0.25 to 1 is usual.", vf_coef=value)
