"""EXP012."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import bounds, done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionsHardlyVary(Rule):
    """Continuous actions hardly vary.

    Why it hurts
        What is always the same teaches nothing about the alternatives.

    Evidence
        The deviation of the actions taken, in the scale of the bounds, in the first half of
        the run.

    Threshold and source
        Below 0.1 (guess; uniform actions in [-1, 1] have 0.58).

    Prescription
        Action noise of 0.1 to 0.3, or an automatic temperature.

    Known false alarms
        Tasks that need very little action.

    References
        SB3 issue 936.
    """

    id = "EXP012"
    name = "actions-hardly-vary"
    family = "exploration"
    severity = "high"
    families = ("on-policy", "actor-critic")
    needs = ("train/roll/action_std",)
    thresholds = {"spread": Threshold(0.1, "guess")}
    expected = {
        "no-action-noise": 0.7,
        "sac-alpha-too-low": 0.4,
        "action-range-unnormalised": 0.8,
        "action-space-degenerate": 0.6,
        "entropy-collapse": 0.4,
        "actor-saturation": 0.4,
        "lr-too-high": 0.15,
        "reward-scale-vs-alpha": 0.2,
        "policy-loss-sign": 0.1,
        "obs-constant": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        spread = median(run["train/roll/action_std"], 0.1, 0.5)
        limits = bounds(run)
        if run.family == "on-policy" and limits is not None:
            width = float(np.median(limits[1] - limits[0])) / 2
            spread = spread / width if 0 < width < math.inf else math.nan
        if not spread < self.bound("spread") or done(run):
            return None
        return self.found(
            f"The actions have a deviation of {spread:.2g} of half their range.",
            "train/roll/action_std",
            action_std=spread,
        )
