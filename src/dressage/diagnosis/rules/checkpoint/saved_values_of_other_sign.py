"""CKP020."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, late_episodes, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold, TooLittle
from dressage.runs.view import RunView


class SavedValuesOfOtherSign(SavedModelRule):
    """The saved critic’s values have the other sign than all returns of the run.

    Why it hurts
        What the learner is paid is the opposite of what the log shows.

    Evidence
        The critic’s mean value, at observations of the sizes that the optimizer remembers, beside
        late returns; where returns of one sign are all that the run had.

    Threshold and source
        Above 0.045 of a late return in size (our labelled runs, 2026-11-18: 0.04 to 0.6 where the
        sign is turned behind the log; of 18 healthy ones of the training settings one with returns
        of one sign has such values, of 0.041).

    Prescription
        Compare the reward that the learner is given with the one that Monitor logs: a sign that a
        wrapper turns outside of Monitor does not show in the log.

    Known false alarms
        Tasks with rewards of both signs.

    References
        The cause reward-sign-flipped.
    """

    id = "CKP020"
    name = "saved-values-of-other-sign"
    family = "checkpoint"
    severity = "high"
    reads = ("critic/value",)
    thresholds = {"share": Threshold(0.045, "our labelled runs, 2026-11-18")}
    elsewhere = 0.02
    expected = {"reward-sign-flipped": 0.5, "td-target-wrong": 0.2, "healthy": 0.01}

    def check(self, run: RunView) -> Finding | None:
        late, returns = late_episodes(run), run.episodes.returns
        mixed = (returns > 0).any() and (returns < 0).any()
        if not late.length > 0 or late.returned == 0 or mixed:
            raise TooLittle
        value = saved_numbers(run)["critic/value"]
        if not value / late.returned < -self.bound("share"):
            return None
        return self.found(
            f"The saved critic’s values are about {value:.3g}; late episodes return "
            f"{late.returned:.3g}, and all episodes had that sign.",
            value=value,
            returned=late.returned,
        )
