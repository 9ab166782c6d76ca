"""DAT005."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class LearningBeginsLate(Rule):
    """The first update comes late in the run.

    Why it hurts
        All before it is random actions.

    Evidence
        The env steps at which losses are first logged, or the counter of updates first
        rises.

    Threshold and source
        After 15 % of the budget (guess; 1 to 2 % is usual).

    Prescription
        learning_starts at 1 to 2 % of the budget.

    Known false alarms
        Logs that begin late.

    References
        muPRL.
    """

    id = "DAT005"
    name = "learning-begins-late"
    family = "data"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("train/loss/td", "train/loss/critic", "updates")
    thresholds = {"place": Threshold(0.15, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "learning-starts-misplaced": 0.97,
        "learning-never-starts": 0.05,
        "updates-starved": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        span = max(run.budget or 0.0, run.env_steps)
        firsts = [
            float(series.env_steps[0])
            for name, series in run.series.items()
            if name.startswith("train/loss/") and series
        ]
        done = run["updates"]
        if done and (done.values > 0).any():
            firsts.append(float(done.env_steps[np.flatnonzero(done.values > 0)[0]]))
        if not firsts or span <= 0:
            return None
        place = min(firsts) / span
        if not place > self.bound("place"):
            return None
        return self.found(
            f"The first update comes at {min(firsts):,.0f} env steps, {place:.0%} of the run.",
            "train/loss/td",
            share_of_run=place,
        )
