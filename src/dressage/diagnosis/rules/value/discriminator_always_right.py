"""VAL021."""

from __future__ import annotations

from dressage.diagnosis.look import like, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class DiscriminatorAlwaysRight(Rule):
    """The discriminator is always right.

    Why it hurts
        Its reward is then the same for all that the learner does, and has no direction.

    Evidence
        The accuracy of the discriminator (imitation’s disc_acc, disc_acc_expert,
        disc_acc_gen).

    Threshold and source
        Above 0.95 in the median after the first fifth (guess).

    Prescription
        A lower rate or fewer updates for the discriminator, noise on its inputs, absorbing
        states.

    Known false alarms
        The first rounds, in which the learner is far off.

    References
        Ho and Ermon 2016; stable-baselines issue 627.
    """

    id = "VAL021"
    name = "discriminator-always-right"
    family = "value"
    severity = "high"
    families = ("imitation",)
    thresholds = {"accuracy": Threshold(0.95, "guess")}
    elsewhere = 0.01
    expected = {
        "gail-discriminator-wins": 0.95,
        "dataset-scale-mismatch": 0.3,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        right = like(run, "disc_acc", "discriminator_accuracy", "disc_accuracy")
        return super().can_see(run) and bool(right)

    def check(self, run: RunView) -> Finding | None:
        right = like(run, "disc_acc", "discriminator_accuracy", "disc_accuracy")
        late = median(right, 0.2)
        if not late > self.bound("accuracy"):
            return None
        return self.found(f"The discriminator is right in {late:.1%} of the cases.", accuracy=late)
