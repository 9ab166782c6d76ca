"""DAT014."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.math.summary import moving_median, robust_deviation
from dressage.runs.view import RunView


class BatchesOfFewTransitions(Rule):
    """The age of batches varies as that of a few transitions would.

    Why it hurts
        A batch of a few transitions gives a gradient that is mostly noise.

    Evidence
        The mean age of a batch, from row to row: of B transitions drawn alike it varies by
        0.58 over the root of B around half of what the memory holds.

    Threshold and source
        A deviation from the running median that tells of fewer than 12 (guess; 64 to 256
        are usual).

    Prescription
        batch_size 64 to 256.

    Known false alarms
        Memories that are not sampled alike (priorities, recent steps first).

    References
        The deviation of the mean of uniform numbers.
    """

    id = "DAT014"
    name = "batches-of-few-transitions"
    family = "data"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/buffer_age",)
    thresholds = {"batch": Threshold(12.0, "guess")}
    elsewhere = 0.003
    expected = {
        "batch-too-small": 0.9,
        "buffer-too-small": 0.05,
        "resume-lost-state": 0.03,
        "healthy": 0.004,
    }

    def check(self, run: RunView) -> Finding | None:
        values = part(run["train/metrics/buffer_age"], 0.15)
        if len(values) < 6 * FEWEST:
            raise TooLittle
        if run.config.get("prioritized") is True:
            return None
        around = moving_median(np.pad(values, 4, mode="reflect"), 9)
        varies = robust_deviation(values / np.maximum(around, 1e-9) - 1.0)
        batch = (0.577 / varies) ** 2 if varies > 0 else math.inf
        if not batch < self.bound("batch"):
            return None
        return self.found(
            f"The age of a batch varies by {varies:.0%}, as that of about {batch:.0f} "
            "transitions does.",
            "train/metrics/buffer_age",
            batch=batch,
        )
