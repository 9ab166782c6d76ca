"""DAT008."""

from __future__ import annotations

import math

from dressage.diagnosis.look import counts, end
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class BatchesHuge(Rule):
    """A batch is a large part of all the data there is.

    Why it hurts
        Beyond the noise of the gradient a larger batch gains nothing, and there are few
        updates.

    Evidence
        The batch size, as configured or as the counters of the log tell, and the number of
        updates.

    Threshold and source
        At least 500 transitions and fewer than 400 updates in the run (guess; the noise
        scale of small tasks is below a thousand).

    Prescription
        Halve it until it is near the gradient’s noise scale.

    Known false alarms
        Image tasks with very many environments.

    References
        McCandlish et al. 2018, “An empirical model of large-batch training”.
    """

    id = "DAT008"
    name = "batches-huge"
    family = "data"
    severity = "medium"
    either = ("batch_size", "train/metrics/epochs_done")
    thresholds = {"batch": Threshold(500.0, "guess"), "updates": Threshold(400.0, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "batch-too-large": 0.9,
        "rollout-too-long": 0.5,
        "budget-too-small": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        round_ = counts(run)
        done = end(run["updates"]) if run["updates"] else math.nan
        if math.isnan(done) and round_.env_steps > 0:
            done = run.env_steps * round_.epochs / round_.batch
        if not (round_.batch >= self.bound("batch") and done < self.bound("updates")):
            return None
        return self.found(
            f"A batch has {round_.batch:,.0f} transitions, and the run {done:.0f} updates.",
            batch=round_.batch,
            updates=done,
        )
