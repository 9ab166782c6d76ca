"""CKP008."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class SlowCopyFarBehind(SavedModelRule):
    """The saved target network is far from the network that it follows.

    Why it hurts
        Values learn towards what the target said long ago: they cannot come to the end of a task
        in more moves than the target makes.

    Evidence
        The distance between the two networks' weights, over the norm of the one that learns.

    Threshold and source
        Above 0.3 (our labelled runs, 2026-11-18: 0.0008 to 0.08 in seven healthy ones of the
        training settings; one seed each, made anew and not stored).

    Prescription
        Let the target follow sooner: a smaller target_update_interval, a larger tau.

    Known false alarms
        A model saved early in a run whose target has not moved yet.

    References
        Mnih et al. 2015.
    """

    id = "CKP008"
    name = "slow-copy-far-behind"
    family = "checkpoint"
    severity = "high"
    families = ("value-based", "actor-critic")
    reads = ("critic/behind",)
    thresholds = {"apart": Threshold(0.3, "our labelled runs, 2026-11-18")}
    elsewhere = 0.03
    expected = {
        "target-updates-too-rarely": 0.9,
        "target-tau-extreme": 0.6,
        "lr-too-high": 0.15,
        "q-divergence": 0.15,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        apart = saved_numbers(run)["critic/behind"]
        if not apart > self.bound("apart"):
            return None
        return self.found(
            f"The saved target network lies {apart:.0%} of the network’s norm away from it; a few "
            "percent are usual.",
            apart=apart,
        )
