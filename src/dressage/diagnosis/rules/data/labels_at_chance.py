"""DAT011."""

from __future__ import annotations

from dressage.diagnosis.look import choices, like, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class LabelsAtChance(Rule):
    """The expert’s actions are predicted no better than by chance.

    Why it hurts
        Actions that belong to other observations cannot be learned from them.

    Evidence
        The probability of the expert’s action (imitation’s prob_true_act) or the accuracy,
        late in training.

    Threshold and source
        Below 1.3 times equal chances, or below 0.35 where their number is not known
        (guess).

    Prescription
        Align actions with the observation they were chosen for: off by one is the usual
        slip.

    Known false alarms
        Experts that act at random; many fine-grained actions.

    References
        imitation’s documentation of BC.
    """

    id = "DAT011"
    name = "labels-at-chance"
    family = "data"
    severity = "critical"
    families = ("imitation",)
    thresholds = {"share": Threshold(0.35, "guess")}
    elsewhere = 0.01
    expected = {
        "expert-labels-misaligned": 0.9,
        "dataset-scale-mismatch": 0.2,
        "lr-too-low": 0.3,
        "healthy": 0.01,
    }

    def can_see(self, run: RunView) -> bool:
        right = like(run, "prob_true_act", "accuracy", "action_match", "discrete_action_match")
        return super().can_see(run) and bool(right)

    def check(self, run: RunView) -> Finding | None:
        right = like(run, "prob_true_act", "accuracy", "action_match", "discrete_action_match")
        actions = choices(run)
        bound = 1.3 / actions if actions else self.bound("share")
        late = median(right, 0.7)
        if not late < bound:
            return None
        return self.found(
            f"The expert's action is met with {late:.0%}; chance alone is about {bound / 1.3:.0%}.",
            share=late,
        )
