"""EXP009."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EpsilonEndsHigh(Rule):
    """Many actions are still random when the run ends.

    Why it hurts
        What is measured is then mostly noise, and what is learned is about that noise.

    Evidence
        The share of random actions in force in the last rows.

    Threshold and source
        Above 0.2 at the end of the budget (guess; muPRL’s range).

    Prescription
        A final epsilon of 0.01 to 0.1.

    Known false alarms
        Runs that were stopped before their budget, which are left out.

    References
        muPRL.
    """

    id = "EXP009"
    name = "epsilon-ends-high"
    family = "exploration"
    severity = "high"
    families = ("value-based",)
    either = ("train/hp/epsilon", "epsilon")
    thresholds = {"share": Threshold(0.2, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "final-epsilon-too-high": 0.95,
        "schedule-restarts": 0.15,
        "budget-too-small": 0.03,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        if run.progress is not None and run.progress < 0.9 and not run["train/hp/epsilon"]:
            return None
        last = in_force(run, "epsilon", "train/hp/epsilon", 1.0)
        stopped = run.progress is not None and run.progress < 0.9
        if stopped or not last > self.bound("share"):
            return None
        return self.found(
            f"{last:.0%} of the actions are still random at the end of the run.",
            "train/hp/epsilon",
            epsilon_end=last,
        )
