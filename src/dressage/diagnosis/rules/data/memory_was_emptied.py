"""DAT013."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.math.summary import moving_median
from dressage.runs.view import RunView


class MemoryWasEmptied(Rule):
    """The replay memory lost what it held.

    Why it hurts
        What had been gathered is gone, and the values are fitted to what little came after.

    Evidence
        How full the memory is, and the age of its batches, from row to row.

    Threshold and source
        A fall by over a third of what it held (guess).

    Prescription
        Save the memory along with the weights.

    Known false alarms
        Memories that are cleared on purpose, as for a change of task.

    References
        SB3’s documentation of save_replay_buffer.
    """

    id = "DAT013"
    name = "memory-was-emptied"
    family = "data"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("train/metrics/buffer_fill", "train/metrics/buffer_age")
    thresholds = {"share": Threshold(0.66, "guess")}
    elsewhere = 0.003
    expected = {
        "resume-lost-state": 0.9,
        "loaded-model-ignored": 0.1,
        "buffer-too-small": 0.05,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        for name in ("train/metrics/buffer_fill", "train/metrics/buffer_age"):
            if name.endswith("age") and run["train/metrics/buffer_fill"]:
                continue
            values = part(run[name], 0.1)
            if len(values) < 4 * FEWEST:
                continue
            values = moving_median(
                values, 1 if name.endswith("fill") else 5
            )  # ages are of one batch
            held = np.maximum.accumulate(values)
            at = int((values / np.maximum(held, 1e-12)).argmin())
            bound = self.bound("share") if name.endswith("fill") else 0.5 * self.bound("share")
            if at and values[at] < bound * held[at]:
                return self.found(
                    f"{run.own_name(name)} falls from {held[at]:.3g} to {values[at]:.3g}.",
                    name,
                    before=float(held[at]),
                    after=float(values[at]),
                )
        return None
