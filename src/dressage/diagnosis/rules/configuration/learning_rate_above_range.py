"""CFG004."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class LearningRateAboveRange(Rule):
    """The learning rate is far above what works.

    Why it hurts
        Updates overshoot, and undo what was learned.

    Evidence
        The learning rate at its start, as logged or as configured.

    Threshold and source
        From 1e-2 on (guess; 1e-5 to 1e-3 is usual [ML]).

    Prescription
        3e-4.

    Known false alarms
        SGD, whose rates are larger; very large batches.

    References
        ml-agents’ documentation.
    """

    id = "CFG004"
    name = "learning-rate-above-range"
    family = "configuration"
    severity = "high"
    either = ("learning_rate", "train/hp/lr")
    thresholds = {"rate": Threshold(1e-2, "guess")}
    elsewhere = 0.0005
    expected = {
        "lr-too-high": 0.9,
        "actor-saturation": 0.4,  # which a lower rate mends, too
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        rate = in_force(run, "learning_rate", "train/hp/lr")
        if not rate >= self.thresholds["rate"].value or run.config.get("optimizer") == "sgd":
            return None
        return self.found(
            f"The learning rate is {rate:g}; 1e-5 to 1e-3 is usual.", learning_rate=rate
        )
