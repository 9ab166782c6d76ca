"""CFG001."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView


class LearningStartsAfterTheEnd(Rule):
    """Learning begins when the budget is spent.

    Why it hurts
        All of the run is random actions.

    Evidence
        learning_starts against the budget in env steps.

    Threshold and source
        At or above the budget: arithmetic.

    Prescription
        learning_starts at 1 to 2 % of the budget, 100 to 10,000 env steps.

    Known false alarms
        None.

    References
        SB3 issue 526.
    """

    id = "CFG001"
    name = "learning-starts-after-the-end"
    family = "configuration"
    severity = "critical"
    families = ("value-based", "actor-critic")
    settings = ("learning_starts",)
    elsewhere = 0.0005
    expected = {
        "learning-never-starts": 0.99,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        budget, starts = run.budget or run.env_steps, float(run.config["learning_starts"])
        if not budget or starts < budget:
            return None
        return self.found(
            f"learning_starts is {starts:,.0f} and the budget {budget:,.0f} env steps: nothing "
            "is learned.",
            learning_starts=starts,
            budget=float(budget),
        )
