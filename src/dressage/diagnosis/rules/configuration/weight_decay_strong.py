"""CFG014."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightDecayStrong(Rule):
    """Weight decay pulls the networks towards zero.

    Why it hurts
        Targets in reinforcement learning move: what is pulled away must be learned again
        and again.

    Evidence
        weight_decay.

    Threshold and source
        Above 1e-2 (guess).

    Prescription
        weight_decay 0.

    Known false alarms
        Decay that is scaled by the learning rate (AdamW).

    References
        The cause weight-decay-too-strong.
    """

    id = "CFG014"
    name = "weight-decay-strong"
    family = "configuration"
    severity = "medium"
    settings = ("weight_decay",)
    thresholds = {"decay": Threshold(0.01, "guess")}
    elsewhere = 0.0005
    expected = {
        "weight-decay-too-strong": 0.9,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "weight_decay")
        if not value > self.bound("decay"):
            return None
        return self.found(f"weight_decay is {value:g}; 0 is usual.", weight_decay=value)
