"""CFG009."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyWeightAboveRange(Rule):
    """The entropy bonus has a weight that outdoes rewards.

    Why it hurts
        A policy that is paid for chance stays with it.

    Evidence
        ent_coef in force at the start.

    Threshold and source
        Above 0.1 (guess; 0 to 0.02 is usual).

    Prescription
        ent_coef 0 to 0.01.

    Known false alarms
        Rewards that are far above one.

    References
        SB3 issue 2240.
    """

    id = "CFG009"
    name = "entropy-weight-above-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    either = ("ent_coef", "train/hp/ent_coef")
    thresholds = {"high": Threshold(0.1, "guess")}
    elsewhere = 0.0005
    expected = {
        "entropy-bonus-too-high": 0.9,
        "action-std-explosion": 0.6,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = in_force(run, "ent_coef", "train/hp/ent_coef")
        if not value > self.bound("high"):
            return None
        return self.found(
            f"ent_coef is {value:g}; 0 to 0.02 is usual.", "train/hp/ent_coef", ent_coef=value
        )
