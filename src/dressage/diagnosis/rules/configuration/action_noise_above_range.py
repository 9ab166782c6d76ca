"""CFG027."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionNoiseAboveRange(Rule):
    """The noise on actions hides the policy.

    Why it hurts
        What is collected is play at random, whatever was learned.

    Evidence
        The deviation of the noise on actions.

    Threshold and source
        Above 0.5 of the range’s half (guess; 0.05 to 0.3 is usual).

    Prescription
        noise_std 0.1.

    Known false alarms
        A schedule that ends low.

    References
        SB3 issue 936.
    """

    id = "CFG027"
    name = "action-noise-above-range"
    family = "configuration"
    severity = "high"
    families = ("actor-critic",)
    either = ("noise_std", "train/hp/noise_std")
    thresholds = {"high": Threshold(0.5, "guess")}
    elsewhere = 0.0005
    expected = {
        "action-noise-too-large": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        noise = in_force(run, "noise_std", "train/hp/noise_std")
        if run.algo not in ("td3", "ddpg") or not noise > self.bound("high"):
            return None
        return self.found(
            f"The noise on actions has a deviation of {noise:g}; 0.1 is usual.",
            "train/hp/noise_std",
            noise_std=noise,
        )
