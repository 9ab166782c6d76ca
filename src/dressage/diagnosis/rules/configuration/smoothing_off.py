"""CFG017."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView


class SmoothingOff(Rule):
    """TD3 runs without its delay or its smoothing.

    Why it hurts
        Both keep the actor from chasing peaks of the critic that are not there.

    Evidence
        policy_delay and target_policy_noise.

    Threshold and source
        A delay of 1 together with noise 0 (arithmetic: that is DDPG with twin critics).

    Prescription
        policy_delay 2, target_policy_noise 0.2.

    Known false alarms
        Ablations that are meant.

    References
        Fujimoto et al. 2018.
    """

    id = "CFG017"
    name = "smoothing-off"
    family = "configuration"
    severity = "medium"
    families = ("actor-critic",)
    settings = ("policy_delay", "target_policy_noise")
    elsewhere = 0.0005
    expected = {
        "td3-smoothing-off": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        delay, noise = number(run, "policy_delay"), number(run, "target_policy_noise")
        if run.algo != "td3" or not (delay <= 1 and noise == 0):
            return None
        return self.found(
            f"policy_delay is {delay:.0f} and target_policy_noise {noise:g}.", delay=delay
        )
