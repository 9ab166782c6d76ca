"""VAL051."""

from __future__ import annotations

import math

from dressage.diagnosis.look import done, reward_a_step, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CriticLossNextToNothing(Rule):
    """The critic is hardly ever wrong, and nothing was learned.

    Why it hurts
        Targets that do not look ahead are easy to meet.

    Evidence
        The root of the critic's late loss beside the mean size of a reward.

    Threshold and source
        Below an eighth of it (our labelled runs, 2026-11-17: no healthy run).

    Prescription
        A target network that follows (tau near 0.005), a larger memory.

    Known false alarms
        Tasks that are solved.

    References
        None.
    """

    id = "VAL051"
    name = "critic-loss-next-to-nothing"
    family = "value"
    severity = "medium"
    stands_in = True
    needs = ("train/loss/critic",)
    families = ("actor-critic",)
    thresholds = {"share": Threshold(0.125, "our labelled runs, 2026-11-17")}
    elsewhere = 0.09
    expected = {
        "target-tau-extreme": 0.36,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        error, reward = math.sqrt(size(run["train/loss/critic"], 0.8)), reward_a_step(run)
        if not error < self.bound("share") * reward or done(run):
            return None
        return self.found(
            f"The critic's error is {error:.2g} where a step pays {reward:.2g}.",
            "train/loss/critic",
            error=error,
            reward=reward,
        )
