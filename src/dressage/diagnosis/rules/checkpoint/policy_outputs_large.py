"""CKP017."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class PolicyOutputsLarge(SavedModelRule):
    """The saved policy’s outputs swing widely with the observation.

    Why it hurts
        Choices are as good as certain and actions far beyond their bounds: nothing is explored.

    Evidence
        The deviation of logits or mean actions over observations of the sizes that the optimizer
        remembers.

    Threshold and source
        Above 8 (our labelled runs, 2026-11-18: at most 5 in healthy ones of the training settings
        with policy gradients; 5 to 78 with a rate that is too high).

    Prescription
        A lower learning rate, fewer epochs, a clip range of 0.2.

    Known false alarms
        Tasks whose best actions are certain, after long training.

    References
        Andrychowicz et al. 2021, “What matters in on-policy reinforcement learning”.
    """

    id = "CKP017"
    name = "policy-outputs-large"
    family = "checkpoint"
    severity = "medium"
    families = ("on-policy",)
    reads = ("actor/output_spread",)
    thresholds = {"spread": Threshold(8.0, "our labelled runs, 2026-11-18")}
    elsewhere = 0.03
    expected = {
        "lr-too-high": 0.7,
        "clip-range-too-wide": 0.5,
        "too-many-epochs": 0.2,
        "rollout-too-short": 0.4,
        "entropy-collapse": 0.3,
        "bad-initialisation": 0.4,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        spread = saved_numbers(run)["actor/output_spread"]
        if not spread > self.bound("spread"):
            return None
        return self.found(
            f"Outputs of the saved policy deviate by {spread:.2g} from observation to observation; "
            "up to 5 is usual.",
            spread=spread,
        )
