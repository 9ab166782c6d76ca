"""CFG025."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median, members, number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class GradientClipMissing(Rule):
    """Nothing limits gradients that are large.

    Why it hurts
        One bad batch moves the network further than many good ones.

    Evidence
        max_grad_norm, beside the logged norms of gradients.

    Threshold and source
        None or above 100 on-policy where gradients are above 20 (guess; 0.5 is usual).

    Prescription
        max_grad_norm 0.5.

    Known false alarms
        Small tasks, where it does no harm.

    References
        “The 37 implementation details of PPO”, detail 11.
    """

    id = "CFG025"
    name = "gradient-clip-missing"
    family = "configuration"
    severity = "medium"
    families = ("on-policy",)
    thresholds = {"high": Threshold(100.0, "guess"), "norm": Threshold(20.0, "guess")}
    elsewhere = 0.0005
    expected = {
        "grad-clip-missing": 0.95,
        "healthy": 0.002,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and "max_grad_norm" in run.config

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "max_grad_norm")
        norms = members(run, "train/metrics/grad_norm/*")
        largest = max((m for s in norms.values() if (m := median(s)) == m), default=math.inf)
        none = "max_grad_norm" in run.config and math.isnan(value)
        loose = none or value > self.bound("high")
        if not (loose and largest > self.bound("norm")):
            return None
        return self.found(
            f"max_grad_norm is {run.config.get('max_grad_norm')}; 0.5 is usual.",
            max_grad_norm=value,
        )
