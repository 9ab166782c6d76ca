"""CKP007."""

from __future__ import annotations

import math

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class PolicyOutputAsDrawn(SavedModelRule):
    """The saved policy's last layer is hardly larger than it was drawn.

    Why it hurts
        SB3 draws it a hundred times smaller than the other layers, so that every action is as
        likely as the next; a policy that has learned to prefer some has a larger one.

    Evidence
        The norm of action_net over that with which it is drawn.

    Threshold and source
        Below 12 times (our labelled runs, 2026-11-18: 55 to 120 times in seven healthy ones of the
        training settings; one seed each, made anew and not stored).

    Prescription
        See whether policy gradients reach the network and whether its step size is large enough.

    Known false alarms
        `ortho_init=False`, which draws it larger, only hides the symptom.

    References
        Andrychowicz et al. 2021, “What matters in on-policy reinforcement learning”, on small last
        layers.
    """

    id = "CKP007"
    name = "policy-output-as-drawn"
    family = "checkpoint"
    severity = "high"
    families = ("on-policy",)
    reads = ("actor/output_grown",)
    thresholds = {"times": Threshold(12.0, "our labelled runs, 2026-11-18")}
    elsewhere = 0.15
    expected = {
        "dead-policy-gradient": 0.9,
        "lr-too-low": 0.7,
        "features-frozen": 0.3,
        "clip-range-too-tight": 0.4,
        "target-kl-too-tight": 0.4,
        "grad-clip-too-tight": 0.2,
        "optimizer-choice": 0.5,
        "optimizer-eps": 0.5,
        "entropy-bonus-too-high": 0.5,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        times = math.exp(saved_numbers(run)["actor/output_grown"])
        if not times < self.bound("times"):
            return None
        return self.found(
            f"The last layer of the saved policy is {times:.2g} times as large as it was drawn; "
            "policies that have learned have 50 times and more.",
            times=times,
        )
