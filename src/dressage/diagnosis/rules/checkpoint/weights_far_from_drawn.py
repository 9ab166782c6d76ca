"""CKP011."""

from __future__ import annotations

import math

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class WeightsFarFromDrawn(SavedModelRule):
    """The saved hidden layers are several times as large as they were drawn.

    Why it hurts
        Steps that large throw away what was learned, and leave units that say the same of every
        observation.

    Evidence
        The norms of hidden layers over those with which SB3 draws them, of the actor and of the
        critic, each in the geometric mean; the larger of both.

    Threshold and source
        Above 3 times (our labelled runs, 2026-11-18: at most 2.5 times in 18 healthy ones of the
        training settings, 3.3 to 31 times in 13 of 15 with a rate that is too high).

    Prescription
        A lower learning rate; clipped gradients.

    Known false alarms
        Runs of many millions of updates.

    References
        Lyle et al. 2024, “Normalization and effective learning rates in reinforcement learning”,
        on the growth of weights.
    """

    id = "CKP011"
    name = "weights-far-from-drawn"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/grown",)
    thresholds = {"times": Threshold(3.0, "our labelled runs, 2026-11-18")}
    elsewhere = 0.03
    expected = {
        "lr-too-high": 0.8,
        "updates-too-many": 0.3,
        "bad-initialisation": 0.5,
        "q-divergence": 0.3,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        saved = saved_numbers(run)
        times = math.exp(max(saved["critic/grown"], saved.get("actor/grown", -math.inf)))
        if not times > self.bound("times"):
            return None
        return self.found(
            f"Hidden layers of the saved model are {times:.2g} times as large as they were drawn; "
            "up to 2.5 times is usual.",
            times=times,
        )
