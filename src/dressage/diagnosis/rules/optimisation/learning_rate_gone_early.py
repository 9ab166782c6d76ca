"""OPT011."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class LearningRateGoneEarly(Rule):
    """The learning rate reaches zero long before the run ends.

    Why it hurts
        From then on nothing is learned, and the rest of the budget is wasted.

    Evidence
        The learning rate in force over the run.

    Threshold and source
        Below 1 % of its highest before 80 % of the budget, to the end (guess).

    Prescription
        Let the schedule end with the budget: `linear(3e-4, 0)` counts shares of it.

    Known false alarms
        Runs that were stopped on purpose after a schedule's end.

    References
        the cause lr-schedule-ends-early.
    """

    id = "OPT011"
    name = "learning-rate-gone-early"
    family = "optimisation"
    severity = "high"
    needs = ("train/hp/lr",)
    thresholds = {"share": Threshold(0.01, "guess"), "place": Threshold(0.8, "guess")}
    elsewhere = 0.01
    expected = {
        "lr-schedule-ends-early": 0.95,
        "schedule-restarts": 0.1,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        rate = run["train/hp/lr"]
        values = part(rate)
        if len(values) < 4 * FEWEST:
            raise TooLittle
        if not values.max() > 0:
            return None
        alive = np.flatnonzero(values > self.bound("share") * values.max())
        done = (alive[-1] + 1) / len(values)
        if not done < self.bound("place"):
            return None
        return self.found(
            f"The learning rate falls to {values[-1]:.2g} at {done:.0%} of the run; it was "
            f"{values.max():.2g}.",
            "train/hp/lr",
            share_of_run=float(done),
        )
