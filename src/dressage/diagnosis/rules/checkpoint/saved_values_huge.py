"""CKP022."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class SavedValuesHuge(SavedModelRule):
    """The saved critic’s values are in the hundreds and more.

    Why it hurts
        A network learns to give such numbers only slowly, and small differences between actions
        drown in its errors.

    Evidence
        The critic’s mean value, at observations of the sizes that the optimizer remembers.

    Threshold and source
        Above 600 in size (our labelled runs, 2026-11-18: at most 64 in healthy ones of the training
        settings, 700 to 300,000 with rewards that are a thousand times too large).

    Prescription
        Rewards of about one: VecNormalize(norm_reward=True), or a factor.

    Known false alarms
        Tasks that pay that much and are learned all the same.

    References
        van Hasselt et al. 2016, “Learning values across many orders of magnitude”.
    """

    id = "CKP022"
    name = "saved-values-huge"
    family = "checkpoint"
    severity = "high"
    families = ("value-based", "actor-critic")
    reads = ("critic/value",)
    thresholds = {"size": Threshold(600.0, "our labelled runs, 2026-11-18")}
    elsewhere = 0.01
    expected = {"reward-scale-too-large": 0.8, "q-divergence": 0.5, "healthy": 0.01}

    def check(self, run: RunView) -> Finding | None:
        value = saved_numbers(run)["critic/value"]
        if not abs(value) > self.bound("size"):
            return None
        return self.found(f"The saved critic’s values are about {value:.3g}.", value=value)
