"""CFG010."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueWeightOutsideRange(Rule):
    """The weight of the value loss is zero or very large.

    Why it hurts
        At zero the values are not learned; at very large the policy is not.

    Evidence
        vf_coef.

    Threshold and source
        Below 1e-3 or above 10 (guess; 0.25 to 1 is usual).

    Prescription
        vf_coef 0.5.

    Known false alarms
        Networks that share nothing, for which a weight only scales the rate.

    References
        “The 37 implementation details of PPO”.
    """

    id = "CFG010"
    name = "value-weight-outside-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    settings = ("vf_coef",)
    thresholds = {"low": Threshold(0.001, "guess"), "high": Threshold(10.0, "guess")}
    elsewhere = 0.01
    expected = {
        "critic-too-weak": 0.9,
        "critic-dominates": 0.4,
        "value-lr-mismatch": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "vf_coef")
        if not (value < self.bound("low") or value > self.bound("high")):
            return None
        return self.found(f"vf_coef is {value:g}; 0.25 to 1 is usual.", vf_coef=value)
