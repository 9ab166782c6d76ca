"""CFG021."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class DiscountAboveRange(Rule):
    """The discount counts with steps without end.

    Why it hurts
        Values grow with every step that is counted, errors with them, and bootstrapping
        hardly shrinks what is wrong.

    Evidence
        gamma.

    Threshold and source
        At least 0.9995 (guess; 0.95 to 0.999 is usual).

    Prescription
        gamma 0.99.

    Known false alarms
        Average-reward tasks; short episodes, whose end bounds the values.

    References
        ml-agents’ documentation.
    """

    id = "CFG021"
    name = "discount-above-range"
    family = "configuration"
    severity = "high"
    settings = ("gamma",)
    thresholds = {"high": Threshold(0.9995, "guess")}
    elsewhere = 0.0005
    expected = {
        "gamma-too-high": 0.95,
        "q-divergence": 0.3,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        gamma = number(run, "gamma")
        if not gamma >= self.bound("high"):
            return None
        return self.found(f"gamma is {gamma:g}; 0.95 to 0.999 is usual.", gamma=gamma)
