"""CKP013."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class CriticAsDrawn(SavedModelRule):
    """The saved critic is as large as it was drawn, in every layer.

    Why it hurts
        Values that do not move tell the policy nothing of which actions are good.

    Evidence
        The norms of its hidden layers and of its last one beside those with which SB3 draws them.

    Threshold and source
        Within 2 % and 12 % (our labelled runs, 2026-11-18: one healthy one of 18 of the training
        settings has both, whose values are near zero; all of 13 with a rate that is too low do;
        norms that are drawn at random differ by as much by chance).

    Prescription
        A higher learning rate; see whether updates are made, and whether they reach the critic.

    Known false alarms
        Tasks whose values are near zero throughout.

    References
        The causes lr-too-low and learning-never-starts.
    """

    id = "CKP013"
    name = "critic-as-drawn"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/grown", "critic/output_grown")
    thresholds = {
        "hidden": Threshold(0.02, "our labelled runs, 2026-11-18"),
        "output": Threshold(0.12, "our labelled runs, 2026-11-18"),
    }
    elsewhere = 0.05
    expected = {
        "lr-too-low": 0.9,
        "learning-never-starts": 0.8,
        "optimizer-eps": 0.6,
        "optimizer-choice": 0.6,
        "value-lr-mismatch": 0.4,
        "updates-too-few": 0.3,
        "grad-clip-too-tight": 0.2,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        saved = saved_numbers(run)
        hidden, output = saved["critic/grown"], saved["critic/output_grown"]
        if not (abs(hidden) < self.bound("hidden") and abs(output) < self.bound("output")):
            return None
        return self.found(
            f"The saved critic’s hidden layers are {hidden:+.1%} and its last layer {output:+.1%} "
            "beside the sizes with which they were drawn.",
            hidden=hidden,
            output=output,
        )
