"""CFG006."""

from __future__ import annotations

import math

from dressage.diagnosis.look import episode_length, number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class DiscountOutsideRange(Rule):
    """The discount is far from the length of the task.

    Why it hurts
        1 / (1 - gamma) is how many steps ahead the agent counts: too few, and it is
        short-sighted; without end, and values grow.

    Evidence
        gamma, beside the length of episodes where that is known.

    Threshold and source
        Below 0.9 with episodes of over five times 1 / (1 - gamma), or at least 0.9995
        (guess; 0.95 to 0.999 is usual).

    Prescription
        gamma 0.99.

    Known false alarms
        Tasks whose reward depends on the next step alone; average-reward tasks.

    References
        ml-agents’ documentation.
    """

    id = "CFG006"
    name = "discount-outside-range"
    family = "configuration"
    severity = "high"
    settings = ("gamma",)
    thresholds = {"low": Threshold(0.9, "guess"), "high": Threshold(0.9995, "guess")}
    elsewhere = 0.01
    expected = {
        "gamma-too-low": 0.95,
        "gamma-too-high": 0.95,
        "discount-misapplied": 0.02,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        gamma = number(run, "gamma")
        length = episode_length(run, 0.0)
        short = gamma < self.bound("low") and (math.isnan(length) or length * (1 - gamma) > 5)
        if not (short or gamma >= self.bound("high")):
            return None
        return self.found(f"gamma is {gamma:g}; 0.95 to 0.999 is usual.", gamma=gamma)
