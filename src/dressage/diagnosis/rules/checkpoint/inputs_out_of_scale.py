"""CKP010."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class InputsOutOfScale(SavedModelRule):
    """The optimizer remembers observations far larger than one.

    Why it hurts
        The first layer’s units saturate or die, and one large number drowns the others.

    Evidence
        The largest root mean square of an observation, from the second moments of the critic’s
        first layer over those of its bias.

    Threshold and source
        Above 30 (guess; our labelled runs, 2026-11-18: 0.2 to 2.8 in fourteen healthy ones of the
        training settings).

    Prescription
        Normalise observations: VecNormalize(norm_obs=True).

    Known false alarms
        Tasks with large numbers that are learned all the same.

    References
        Henderson et al. 2018 and Engstrom et al. 2020 on normalised observations.
    """

    id = "CKP010"
    name = "inputs-out-of-scale"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/input_largest",)
    thresholds = {"size": Threshold(30.0, "guess")}
    elsewhere = 0.01
    expected = {"obs-unnormalised": 0.8, "healthy": 0.02}

    def check(self, run: RunView) -> Finding | None:
        size = saved_numbers(run)["critic/input_largest"]
        if not size > self.bound("size"):
            return None
        return self.found(
            f"By the optimizer’s moments of the first layer a number of the observation is about "
            f"{size:.3g} in size; about 1 suits a network.",
            size=size,
        )
