"""ENV048."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SomeNumbersNeverChange(Rule):
    """Some of the numbers of an observation never change.

    Why it hurts
        What an agent is not shown it cannot act on.

    Evidence
        The share of the numbers of an observation that are the same in a few hundred steps.

    Threshold and source
        Above 0.2 in the median (guess).

    Prescription
        Look at what the environment returns, and at wrappers around it.

    Known false alarms
        Padding, and switches that are seldom thrown.

    References
        The metric train/roll/obs_constant_share.
    """

    id = "ENV048"
    name = "some-numbers-never-change"
    family = "environment"
    severity = "medium"
    needs = ("train/roll/obs_constant_share",)
    thresholds = {"share": Threshold(0.2, "guess")}
    elsewhere = 0.01
    expected = {
        "obs-constant": 0.9,
        "partial-observability": 0.5,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        share = median(run["train/roll/obs_constant_share"])
        if not share > self.bound("share"):
            return None
        return self.found(
            f"{share:.0%} of the numbers of an observation never change.",
            "train/roll/obs_constant_share",
            share=share,
        )
