"""CFG030."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class KlLimitBelowRange(Rule):
    """Updates end at a KL that every minibatch passes.

    Why it hurts
        One or two minibatches an iteration are learned from, and the rest of the data
        is thrown away.

    Evidence
        target_kl.

    Threshold and source
        Below 0.002 (guess; 0.01 to 0.03 is usual).

    Prescription
        target_kl 0.01 to 0.03, or none.

    Known false alarms
        None known.

    References
        SB3’s documentation of target_kl.
    """

    id = "CFG030"
    name = "kl-limit-below-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    settings = ("target_kl",)
    thresholds = {"low": Threshold(0.002, "guess")}
    elsewhere = 0.0005
    expected = {
        "target-kl-too-tight": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "target_kl")
        if not value < self.bound("low"):
            return None
        return self.found(f"target_kl is {value:g}; 0.01 to 0.03 is usual.", target_kl=value)
