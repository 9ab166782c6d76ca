"""VAL050."""

from __future__ import annotations

import math

from dressage.diagnosis.look import reward_a_step, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CriticLossLargeBesideRewards(Rule):
    """The critic errs by more than a step pays, to the end.

    Why it hurts
        The differences between actions, which the actor follows, are smaller than that error.

    Evidence
        The root of the critic's late loss beside the mean size of a reward.

    Threshold and source
        Above 1.8 times it (our labelled runs, 2026-11-17: one healthy run in five).

    Prescription
        Normalise observations, scale rewards, see that the state holds what pays.

    Known false alarms
        Rewards that come rarely and are large.

    References
        None.
    """

    id = "VAL050"
    name = "critic-loss-large-beside-rewards"
    family = "value"
    severity = "medium"
    stands_in = True
    needs = ("train/loss/critic",)
    families = ("actor-critic",)
    thresholds = {"times": Threshold(1.8, "our labelled runs, 2026-11-17")}
    elsewhere = 0.18
    expected = {
        "reward-scale-too-small": 0.67,
        "reward-uninformative": 0.67,
        "optimizer-state-corrupted": 0.59,
        "bad-initialisation": 0.59,
        "obs-unnormalised": 0.64,
        "reward-scale-too-large": 0.4,
        "healthy": 0.227,
    }

    def check(self, run: RunView) -> Finding | None:
        error, reward = math.sqrt(size(run["train/loss/critic"], 0.8)), reward_a_step(run)
        if not error > self.bound("times") * reward:
            return None
        return self.found(
            f"The critic's error is {error:.3g} where a step pays {reward:.2g}.",
            "train/loss/critic",
            error=error,
            reward=reward,
        )
