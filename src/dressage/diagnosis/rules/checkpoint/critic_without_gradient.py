"""CKP015."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class CriticWithoutGradient(SavedModelRule):
    """The optimizer remembers no gradient of the critic.

    Why it hurts
        Values that are never fitted leave the policy with the noise of whole returns.

    Evidence
        The root of the summed second moments of the critic’s weights, which other weights have.

    Threshold and source
        Below 1e-6 (guess; our labelled runs, 2026-11-18: 0 where the value loss counts for nothing,
        from 0.02 on elsewhere).

    Prescription
        Give the value loss a weight: vf_coef=0.5.

    Known false alarms
        Rewards that are all zero.

    References
        The cause critic-too-weak.
    """

    id = "CKP015"
    name = "critic-without-gradient"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/gradient",)
    thresholds = {"norm": Threshold(1e-6, "guess")}
    elsewhere = 0.005
    expected = {"critic-too-weak": 0.8, "reward-uninformative": 0.02, "healthy": 0.001}

    def check(self, run: RunView) -> Finding | None:
        norm = saved_numbers(run)["critic/gradient"]
        if not norm < self.bound("norm"):
            return None
        return self.found(
            f"By the optimizer’s moments the critic’s gradient has a norm of {norm:.2g}.",
            norm=norm,
        )
