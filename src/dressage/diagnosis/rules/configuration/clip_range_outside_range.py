"""CFG008."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ClipRangeOutsideRange(Rule):
    """The clip range is far from what works.

    Why it hurts
        Too wide it bounds nothing, too tight it lets nothing through.

    Evidence
        The clip range in force at the start.

    Threshold and source
        Below 0.02 or above 0.6 (guess; 0.1 to 0.3 [PPO]).

    Prescription
        clip_range 0.2.

    Known false alarms
        None known.

    References
        Schulman et al. 2017.
    """

    id = "CFG008"
    name = "clip-range-outside-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    either = ("clip_range", "train/hp/clip_range")
    thresholds = {"low": Threshold(0.02, "guess"), "high": Threshold(0.6, "guess")}
    elsewhere = 0.01
    expected = {
        "clip-range-too-wide": 0.95,
        "clip-range-too-tight": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = in_force(run, "clip_range", "train/hp/clip_range")
        if not (value < self.bound("low") or value > self.bound("high")):
            return None
        return self.found(
            f"The clip range is {value:g}; 0.1 to 0.3 is usual.",
            "train/hp/clip_range",
            clip_range=value,
        )
