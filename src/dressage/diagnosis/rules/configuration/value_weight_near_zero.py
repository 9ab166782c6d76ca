"""CFG010."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueWeightNearZero(Rule):
    """The critic’s loss counts for nothing.

    Why it hurts
        Values that do not learn leave advantages as noisy as returns.

    Evidence
        vf_coef.

    Threshold and source
        Below 1e-3 (guess; 0.25 to 1 is usual).

    Prescription
        vf_coef 0.5.

    Known false alarms
        REINFORCE without a baseline.

    References
        “The 37 implementation details of PPO”.
    """

    id = "CFG010"
    name = "value-weight-near-zero"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    settings = ("vf_coef",)
    thresholds = {"low": Threshold(0.001, "guess")}
    elsewhere = 0.0005
    expected = {
        "critic-too-weak": 0.9,
        "value-lr-mismatch": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "vf_coef")
        if not value < self.bound("low"):
            return None
        return self.found(f"vf_coef is {value:g}; 0.25 to 1 is usual.", vf_coef=value)
