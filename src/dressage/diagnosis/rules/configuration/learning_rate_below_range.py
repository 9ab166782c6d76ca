"""CFG005."""

from __future__ import annotations

from dressage.diagnosis.look import in_force, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class LearningRateBelowRange(Rule):
    """The learning rate is far below what works.

    Why it hurts
        Nothing moves.

    Evidence
        The learning rate at its start, as logged or as configured.

    Threshold and source
        Below 5e-6 at the start of the run (guess; 1e-5 to 1e-3 is usual [ML]).

    Prescription
        3e-4.

    Known false alarms
        A warm-up, which begins at 0: the highest rate of the log is looked at where there is one.

    References
        ml-agents’ documentation.
    """

    id = "CFG005"
    name = "learning-rate-below-range"
    family = "configuration"
    severity = "high"
    either = ("learning_rate", "train/hp/lr")
    thresholds = {"rate": Threshold(5e-6, "guess")}
    elsewhere = 0.0005
    expected = {
        "lr-too-low": 0.9,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        logged = part(run["train/hp/lr"])
        rate = float(logged.max()) if len(logged) else in_force(run, "learning_rate")
        if not rate < self.thresholds["rate"].value:
            return None
        return self.found(
            f"The learning rate is {rate:g}; 1e-5 to 1e-3 is usual.", learning_rate=rate
        )
