"""CKP014."""

from __future__ import annotations

import math

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class WeightsShrunk(SavedModelRule):
    """The saved hidden layers are smaller than they were drawn.

    Why it hurts
        A network that shrinks towards zero answers the same to everything.

    Evidence
        The norms of hidden layers over those with which SB3 draws them, of the actor and of the
        critic, each in the geometric mean; the smaller of both.

    Threshold and source
        Below 0.75 times (our labelled runs, 2026-11-18: from 0.98 times on in 18 healthy ones of
        the training settings, 0.05 times and less with strong weight decay).

    Prescription
        Less weight decay: optimizer_kwargs=dict(weight_decay=0).

    Known false alarms
        Networks that are drawn smaller than SB3’s, by code of one’s own.

    References
        Loshchilov and Hutter 2019, “Decoupled weight decay regularization”.
    """

    id = "CKP014"
    name = "weights-shrunk"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/grown",)
    thresholds = {"times": Threshold(0.75, "our labelled runs, 2026-11-18")}
    elsewhere = 0.01
    expected = {"weight-decay-too-strong": 0.9, "healthy": 0.002}

    def check(self, run: RunView) -> Finding | None:
        saved = saved_numbers(run)
        times = math.exp(min(saved["critic/grown"], saved.get("actor/grown", math.inf)))
        if not times < self.bound("times"):
            return None
        return self.found(
            f"Hidden layers of the saved model are {times:.2g} times as large as they were drawn.",
            times=times,
        )
