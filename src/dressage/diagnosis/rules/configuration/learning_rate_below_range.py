"""CFG005."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule
from dressage.runs.view import RunView


class LearningRateBelowRange(Rule):
    """The learning rate is far below what works.

    Why it hurts
        Nothing moves.

    Evidence
        The learning rate at its start.

    Threshold and source
        Below 1e-6 at the start of the run (guess; 1e-5 to 1e-3 is usual [ML]).

    Prescription
        3e-4.

    Known false alarms
        A warm-up, which begins at 0: the schedule says so.

    References
        ml-agents’ documentation.
    """

    id = "CFG005"
    name = "learning-rate-below-range"
    family = "configuration"
    severity = "high"
    settings = ("learning_rate",)
    thresholds = {"rate": Threshold(1e-6, "guess")}
    expected = {
        "lr-too-low": 0.9,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        try:
            rate = at(parse_schedule(run.config["learning_rate"]), 0.0)
        except (ConfigError, TypeError, ValueError):
            return None
        if rate >= self.thresholds["rate"].value:
            return None
        return self.found(
            f"The learning rate is {rate:g}; 1e-5 to 1e-3 is usual.", learning_rate=rate
        )
