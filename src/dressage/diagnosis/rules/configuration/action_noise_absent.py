"""CFG018."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionNoiseAbsent(Rule):
    """A deterministic policy acts without noise.

    Why it hurts
        DDPG and TD3 see nothing but what they already do.

    Evidence
        The deviation of the noise on actions.

    Threshold and source
        0 for DDPG and TD3 (arithmetic; 0.05 to 0.3 is usual).

    Prescription
        noise_std 0.1.

    Known false alarms
        Noise on the weights instead of the actions.

    References
        SB3 issue 936.
    """

    id = "CFG018"
    name = "action-noise-absent"
    family = "configuration"
    severity = "high"
    families = ("actor-critic",)
    either = ("noise_std", "train/hp/noise_std", "action_noise")
    thresholds = {"low": Threshold(0.0, "arithmetic")}
    elsewhere = 0.0005
    expected = {
        "no-action-noise": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        noise = in_force(run, "noise_std", "train/hp/noise_std")
        none = noise <= self.bound("low") or run.config.get("action_noise") in ("none", "off")
        if run.algo not in ("td3", "ddpg") or run.config.get("parameter_noise") or not none:
            return None
        return self.found(
            "Actions have no noise; a deviation of 0.1 is usual.",
            "train/hp/noise_std",
            noise_std=0.0,
        )
