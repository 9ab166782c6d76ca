"""CFG008."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ClipRangeBelowRange(Rule):
    """The clip range of PPO is far below what works.

    Why it hurts
        Nearly every ratio is clipped, and what is clipped has no gradient: the policy
        hardly moves.

    Evidence
        clip_range in force at the start.

    Threshold and source
        Below 0.02 (guess; 0.1 to 0.3 [PPO]).

    Prescription
        clip_range 0.2.

    Known false alarms
        None known.

    References
        Schulman et al. 2017.
    """

    id = "CFG008"
    name = "clip-range-below-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    either = ("clip_range", "train/hp/clip_range")
    thresholds = {"low": Threshold(0.02, "guess")}
    elsewhere = 0.0005
    expected = {
        "clip-range-too-tight": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = in_force(run, "clip_range", "train/hp/clip_range")
        if not value < self.bound("low"):
            return None
        return self.found(
            f"The clip range is {value:g}; 0.1 to 0.3 is usual.",
            "train/hp/clip_range",
            clip_range=value,
        )
