"""CFG006."""

from __future__ import annotations

import math

from dressage.diagnosis.look import episode_length, learned, number, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class DiscountBelowRange(Rule):
    """The discount is far below the length of the task.

    Why it hurts
        1 / (1 - gamma) is how many steps ahead the agent counts: with too few it is
        short-sighted.

    Evidence
        gamma, beside the length of episodes where that is known.

    Threshold and source
        Below 0.9 with episodes of over five times 1 / (1 - gamma), where the task was not
        learned (guess; 0.95 to 0.999 is usual).

    Prescription
        gamma 0.99.

    Known false alarms
        Tasks whose reward depends on the next step alone.

    References
        ml-agents’ documentation.
    """

    id = "CFG006"
    name = "discount-below-range"
    family = "configuration"
    severity = "high"
    settings = ("gamma",)
    thresholds = {"low": Threshold(0.9, "guess"), "times": Threshold(5.0, "guess")}
    elsewhere = 0.0005
    expected = {
        "gamma-too-low": 0.95,
        "discount-misapplied": 0.02,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        gamma, length = number(run, "gamma"), episode_length(run, 0.0)
        short = math.isnan(length) or length * (1 - gamma) > self.bound("times")
        fine = learned(run) if run.threshold is None else solved(run)
        if not (gamma < self.bound("low") and short) or fine:
            return None
        return self.found(f"gamma is {gamma:g}; 0.95 to 0.999 is usual.", gamma=gamma)
