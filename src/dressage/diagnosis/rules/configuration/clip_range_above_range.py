"""CFG023."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ClipRangeAboveRange(Rule):
    """The clip range of PPO is far above what works.

    Why it hurts
        Nothing holds the policy near the one that collected the data.

    Evidence
        clip_range in force at the start.

    Threshold and source
        Above 0.6 (guess; 0.1 to 0.3 [PPO]).

    Prescription
        clip_range 0.2.

    Known false alarms
        None known.

    References
        Schulman et al. 2017.
    """

    id = "CFG023"
    name = "clip-range-above-range"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    either = ("clip_range", "train/hp/clip_range")
    thresholds = {"high": Threshold(0.6, "guess")}
    elsewhere = 0.0005
    expected = {
        "clip-range-too-wide": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = in_force(run, "clip_range", "train/hp/clip_range")
        if not value > self.bound("high"):
            return None
        return self.found(
            f"The clip range is {value:g}; 0.1 to 0.3 is usual.",
            "train/hp/clip_range",
            clip_range=value,
        )
