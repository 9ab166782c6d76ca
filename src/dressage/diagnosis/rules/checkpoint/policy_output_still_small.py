"""CKP016."""

from __future__ import annotations

import math

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class PolicyOutputStillSmall(SavedModelRule):
    """The saved policy’s last layer has grown, and less than in policies that have learned.

    Why it hurts
        A policy that moves too slowly has not come to prefer what it knows to be better.

    Evidence
        The norm of action_net over that with which it is drawn.

    Threshold and source
        12 to 35 times (our labelled runs, 2026-11-18: 55 to 120 times in healthy ones of the
        training settings). Below, CKP007 says so instead.

    Prescription
        See what holds updates back: clip range, KL limit, schedule, number of updates, entropy
        bonus.

    Known false alarms
        Tasks in which a slight preference is enough.

    References
        Andrychowicz et al. 2021, “What matters in on-policy reinforcement learning”, on small last
        layers.
    """

    id = "CKP016"
    name = "policy-output-still-small"
    family = "checkpoint"
    severity = "medium"
    families = ("on-policy",)
    reads = ("actor/output_grown",)
    thresholds = {
        "least": Threshold(12.0, "our labelled runs, 2026-11-18"),
        "most": Threshold(35.0, "our labelled runs, 2026-11-18"),
    }
    elsewhere = 0.15
    expected = {
        "clip-range-too-tight": 0.4,
        "target-kl-too-tight": 0.4,
        "lr-schedule-ends-early": 0.6,
        "rollout-too-long": 0.5,
        "entropy-bonus-too-high": 0.4,
        "gamma-too-low": 0.4,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        times = math.exp(saved_numbers(run)["actor/output_grown"])
        if not self.bound("least") <= times < self.bound("most"):
            return None
        return self.found(
            f"The last layer of the saved policy is {times:.2g} times as large as it was drawn; "
            "policies that have learned have 50 times and more.",
            times=times,
        )
