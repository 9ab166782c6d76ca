"""CFG018."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionNoiseOutsideRange(Rule):
    """The noise on actions is zero, or as large as the actions.

    Why it hurts
        Without noise a deterministic actor tries nothing; with too much nothing it does
        matters.

    Evidence
        The deviation of the noise in force, actions being in [-1, 1].

    Threshold and source
        0 for DDPG and TD3, or above 0.5 (guess; 0.05 to 0.3 is usual).

    Prescription
        noise_std 0.1.

    Known false alarms
        Noise on the weights instead of the actions.

    References
        SB3 issue 936.
    """

    id = "CFG018"
    name = "action-noise-outside-range"
    family = "configuration"
    severity = "high"
    families = ("actor-critic",)
    either = ("noise_std", "train/hp/noise_std", "action_noise")
    thresholds = {"noise": Threshold(0.5, "guess")}
    elsewhere = 0.01
    expected = {
        "no-action-noise": 0.95,
        "action-noise-too-large": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        if run.algo not in ("td3", "ddpg"):
            return None
        noise = in_force(run, "noise_std", "train/hp/noise_std")
        none = noise <= 0 or run.config.get("action_noise") in ("none", "off")
        if run.config.get("parameter_noise") or not (none or noise > self.bound("noise")):
            return None
        return self.found(
            f"The noise on actions has a deviation of {0.0 if none else noise:g}; 0.1 is usual.",
            "train/hp/noise_std",
            noise_std=noise,
        )
