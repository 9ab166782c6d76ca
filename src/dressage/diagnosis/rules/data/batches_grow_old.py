"""DAT030."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class BatchesGrowOld(Rule):
    """The batch grows older by one for each env step.

    Why it hurts
        It is the same batch as before: what is fitted are a few transitions, and all others
        are forgotten.

    Evidence
        The mean age of a batch from row to row: half a step for each env step where batches
        are drawn anew from all that was seen, a whole one where they are not.

    Threshold and source
        A slope within 0.15 of one between over 40 % of the rows (our labelled runs: 15 % at
        most where healthy, 85 % where batches are kept).

    Prescription
        Draw a batch of its own for each update.

    Known false alarms
        Learning from a fixed set of transitions, which is offline training.

    References
        skrl issue 208.
    """

    id = "DAT030"
    name = "batches-grow-old"
    family = "data"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/buffer_age",)
    thresholds = {"share": Threshold(0.4, "our labelled runs, 2026-11-16")}
    elsewhere = 0.003
    expected = {
        "batch-reused": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        age = run["train/metrics/buffer_age"]
        if len(age.values) < 4 * FEWEST:
            raise TooLittle
        slopes = np.diff(age.values) / np.maximum(np.diff(age.env_steps), 1.0)
        share = float((np.abs(slopes - 1.0) < 0.15).mean())
        if not share > self.bound("share"):
            return None
        return self.found(
            f"Between {share:.0%} of the rows the batch grows older by one for each env step.",
            "train/metrics/buffer_age",
            share=share,
        )
