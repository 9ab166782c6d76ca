"""CKP019."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, late_episodes, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold, TooLittle
from dressage.runs.view import RunView


class SavedValuesBeyondReturns(SavedModelRule):
    """The saved critic’s values are many times what an episode returns.

    Why it hurts
        What the learner is paid is not what the log shows, or its values feed on themselves.

    Evidence
        The size of the critic’s mean value, at observations of the sizes that the optimizer
        remembers, over that of the returns of late episodes.

    Threshold and source
        Above 30 times (guess; our labelled runs, 2026-11-18: at most 12 times in healthy ones of
        the training settings).

    Prescription
        Compare the reward that the learner is given with the one that Monitor logs; scale rewards
        to about one.

    Known false alarms
        Returns near zero whose parts cancel.

    References
        The causes reward-scale-too-large and q-divergence.
    """

    id = "CKP019"
    name = "saved-values-beyond-returns"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/value",)
    thresholds = {"times": Threshold(30.0, "guess")}
    elsewhere = 0.02
    expected = {"reward-scale-too-large": 0.5, "q-divergence": 0.4, "healthy": 0.005}

    def check(self, run: RunView) -> Finding | None:
        late = late_episodes(run)
        if not late.length > 0 or late.returned == 0:
            raise TooLittle
        value = saved_numbers(run)["critic/value"]
        times = abs(value / late.returned)
        if not times > self.bound("times"):
            return None
        return self.found(
            f"The saved critic’s values are about {value:.3g}; late episodes return "
            f"{late.returned:.3g}.",
            times=times,
        )
