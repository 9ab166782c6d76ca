"""CFG032."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetEntropyBeyondReach(Rule):
    """The policy is to be more random than its range allows.

    Why it hurts
        The temperature grows without end, since no policy within bounds has that
        entropy, and drowns the reward.

    Evidence
        target_entropy.

    Threshold and source
        Above 0 for actions that are numbers (arithmetic: a uniform policy on [-1, 1]
        has 0.69 for each; minus their number is usual).

    Prescription
        target_entropy auto.

    Known false alarms
        None known.

    References
        Haarnoja et al. 2018b, section 5.
    """

    id = "CFG032"
    name = "target-entropy-beyond-reach"
    family = "configuration"
    severity = "high"
    families = ("actor-critic",)
    settings = ("target_entropy",)
    thresholds = {"high": Threshold(0.0, "arithmetic")}
    elsewhere = 0.0005
    expected = {
        "sac-alpha-explodes": 0.9,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "target_entropy")
        if run.algo == "sac_discrete" or not value > self.bound("high"):
            return None
        return self.found(
            f"target_entropy is {value:g}; minus the number of actions is usual.",
            "train/metrics/alpha",
            target_entropy=value,
        )
