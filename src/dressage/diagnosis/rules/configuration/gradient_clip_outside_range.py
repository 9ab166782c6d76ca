"""CFG011."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median, members, number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class GradientClipOutsideRange(Rule):
    """Gradients are clipped to almost nothing, or not at all.

    Why it hurts
        Too tight a clip sets the step size; none at all lets one bad batch through.

    Evidence
        max_grad_norm.

    Threshold and source
        Below 0.01, or none or above 100 on-policy where gradients are above 20 (guess; 0.5
        is usual).

    Prescription
        max_grad_norm 0.5 on-policy, 10 for action values.

    Known false alarms
        Off-policy algorithms, which are often run without; small tasks, where it does no
        harm.

    References
        “The 37 implementation details of PPO”, detail 11.
    """

    id = "CFG011"
    name = "gradient-clip-outside-range"
    family = "configuration"
    severity = "medium"
    thresholds = {
        "low": Threshold(0.01, "guess"),
        "high": Threshold(100.0, "guess"),
        "norm": Threshold(20.0, "guess"),
    }
    elsewhere = 0.01
    expected = {
        "grad-clip-too-tight": 0.95,
        "grad-clip-missing": 0.95,
        "healthy": 0.002,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and "max_grad_norm" in run.config

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "max_grad_norm")
        norms = members(run, "train/metrics/grad_norm/*")
        largest = max((m for s in norms.values() if (m := median(s)) == m), default=math.inf)
        loose = value > self.bound("high") or math.isnan(value)
        off = "max_grad_norm" in run.config and run.family == "on-policy" and loose
        off = off and largest > self.bound("norm")
        if not (value < self.bound("low") or off):
            return None
        return self.found(
            f"max_grad_norm is {run.config.get('max_grad_norm')}; 0.5 is usual.",
            max_grad_norm=value,
        )
