"""CFG011."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class GradientClipBelowRange(Rule):
    """Gradients are clipped to nearly nothing.

    Why it hurts
        Where the optimizer does not scale steps by itself, nothing moves; where it
        does, all directions are those of the largest part.

    Evidence
        max_grad_norm.

    Threshold and source
        Below 0.01 (guess; 0.5 is usual).

    Prescription
        max_grad_norm 0.5 on-policy, 10 for action values.

    Known false alarms
        None known.

    References
        “The 37 implementation details of PPO”, detail 11.
    """

    id = "CFG011"
    name = "gradient-clip-below-range"
    family = "configuration"
    severity = "high"
    settings = ("max_grad_norm",)
    thresholds = {"low": Threshold(0.01, "guess")}
    elsewhere = 0.0005
    expected = {
        "grad-clip-too-tight": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "max_grad_norm")
        if not value < self.bound("low"):
            return None
        return self.found(f"max_grad_norm is {value:g}; 0.5 is usual.", max_grad_norm=value)
