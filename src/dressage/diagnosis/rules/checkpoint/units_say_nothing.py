"""CKP012."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class UnitsSayNothing(SavedModelRule):
    """Many units of the saved critic answer the same to every observation.

    Why it hurts
        A unit that never changes carries nothing, and its gradient is next to nothing.

    Evidence
        The share of hidden units whose outputs hardly vary over observations of the sizes that the
        optimizer remembers.

    Threshold and source
        Above 0.4 (our labelled runs, 2026-11-18: at most 0.18 in 18 healthy ones of the training
        settings, 0.47 to 0.81 in 9 of 15 with a rate that is too high).

    Prescription
        A lower learning rate; observations and rewards of usual size.

    Known false alarms
        Another activation than SB3’s default for the algorithm, which the file does not name.

    References
        Sokar et al. 2023, “The dormant neuron phenomenon in deep reinforcement learning”.
    """

    id = "CKP012"
    name = "units-say-nothing"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/idle",)
    thresholds = {"share": Threshold(0.4, "our labelled runs, 2026-11-18")}
    elsewhere = 0.05
    expected = {"lr-too-high": 0.6, "obs-unnormalised": 0.3, "healthy": 0.005}

    def check(self, run: RunView) -> Finding | None:
        share = saved_numbers(run)["critic/idle"]
        if not share > self.bound("share"):
            return None
        return self.found(
            f"{share:.0%} of the saved critic’s hidden units answer the same to every observation.",
            share=share,
        )
