"""CFG031."""

from __future__ import annotations

import math

from dressage.diagnosis.look import in_force, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueClipNarrow(Rule):
    """Values may move by far less than they are wrong.

    Why it hurts
        The loss ignores what lies beyond the clip range of the values, which depends on
        the scale of rewards: the critic cannot reach its targets.

    Evidence
        clip_range_vf, beside the root of the value loss where that is logged.

    Threshold and source
        The clip range below a third of the error, or below 0.01 (guess).

    Prescription
        clip_range_vf None.

    Known false alarms
        Rewards that are normalised, with a clip range to fit.

    References
        Andrychowicz et al. 2021; SB3’s documentation of clip_range_vf.
    """

    id = "CFG031"
    name = "value-clip-narrow"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    settings = ("clip_range_vf",)
    thresholds = {"share": Threshold(1 / 3, "guess"), "low": Threshold(0.01, "guess")}
    elsewhere = 0.0005
    expected = {
        "value-clip-too-tight": 0.95,
        "reward-scale-too-large": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = in_force(run, "clip_range_vf", "train/hp/clip_range_vf")
        error = math.sqrt(max(median(run["train/loss/value"]), 0.0))
        if not (value < self.bound("share") * error or value < self.bound("low")):
            return None
        return self.found(
            f"Values are clipped to a change of {value:g}, and miss their targets by {error:.3g}.",
            "train/loss/value",
            clip_range_vf=value,
            error=error,
        )
