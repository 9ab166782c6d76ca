"""CKP018."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, late_episodes, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold, TooLittle
from dressage.runs.view import RunView


class SavedValuesSpanFewSteps(SavedModelRule):
    """The saved critic’s values are worth a few rewards only.

    Why it hurts
        An agent that counts only the next few rewards does not plan for what comes after.

    Evidence
        The critic’s mean value, at observations of the sizes that the optimizer remembers, over the
        reward a step of late episodes: how many rewards it sums up.

    Threshold and source
        0.2 to 4 rewards, and less than a fifteenth of an episode (guess; our labelled runs,
        2026-11-18: 1.2 and 2.5 with a discount of 0.5, from 8.7 on in healthy ones of the training
        settings whose episodes are that long and whose values have the sign of their returns).

    Prescription
        gamma 0.95 to 0.999; a critic that has learned little gives small values as well.

    Known false alarms
        Tasks in which single rewards are much larger than others.

    References
        The cause gamma-too-low.
    """

    id = "CKP018"
    name = "saved-values-span-few-steps"
    family = "checkpoint"
    severity = "medium"
    reads = ("critic/value",)
    thresholds = {
        "least": Threshold(0.2, "guess"),
        "steps": Threshold(4.0, "guess"),
        "share": Threshold(1 / 15, "guess"),
    }
    elsewhere = 0.08
    expected = {
        "gamma-too-low": 0.8,
        "lr-schedule-ends-early": 0.4,
        "rollout-too-long": 0.4,
        "target-kl-too-tight": 0.3,
        "target-tau-extreme": 0.3,
        "target-updates-too-rarely": 0.4,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        late = late_episodes(run)
        if not late.length > 0 or late.returned == 0:
            raise TooLittle
        value = saved_numbers(run)["critic/value"]
        steps = value * late.length / late.returned
        most = min(self.bound("steps"), self.bound("share") * late.length)
        if not self.bound("least") < steps < most:
            return None
        return self.found(
            f"The saved critic’s values are about {value:.3g}, {steps:.2g} rewards of late "
            f"episodes, which last {late.length:.0f} steps.",
            steps=steps,
            length=late.length,
        )
