"""VAL046."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median, part, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ErrorsExceedTheRewards(Rule):
    """Critics that agree err by more than rewards differ.

    Why it hurts
        Chance in the rewards cannot make such errors: the values of the states themselves do
        not go together, as those of a step and of a successor that is not its own.

    Evidence
        The TD error beside the rewards’ deviation, the critics’ difference and the values, late
        in the run.

    Threshold and source
        Between 1.03 and 2 deviations, with critics within 0.15 of the error and an error below
        0.2 of the values (our labelled runs: 1.14 to 1.39 where the memory mixes up
        observations; noise alone gives 0.8).

    Prescription
        Look at whether observations, actions, rewards and successors of the memory belong
        together.

    Known false alarms
        Returns of several steps as targets, whose errors add up.

    References
        RLMutation, observations mangled in memory.
    """

    id = "VAL046"
    name = "errors-exceed-the-rewards"
    family = "value"
    severity = "high"
    families = ("actor-critic",)
    needs = (
        "train/metrics/critic_disagreement",
        "train/metrics/td_error_mean",
        "train/metrics/q_mean",
        "train/roll/reward_std",
    )
    thresholds = {
        "low": Threshold(1.03, "our labelled runs, 2026-11-16"),
        "high": Threshold(2.0, "our labelled runs, 2026-11-16"),
        "apart": Threshold(0.15, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "replay-corrupted": 0.6,
        "obs-stale": 0.1,
        "obs-constant": 0.2,
        "reward-sign-flipped": 0.1,
        "obs-unnormalised": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        apart = median(run["train/metrics/critic_disagreement"], 0.6)
        error = median(run["train/metrics/td_error_mean"], 0.6)
        spread = part(run["train/roll/reward_std"])
        deviation = float(np.sqrt(np.mean(spread**2))) if len(spread) else 0.0
        learned = error < 0.2 * size(run["train/metrics/q_mean"], 0.6)
        if not learned or not 0.0 < apart < self.bound("apart") * error:
            return None
        if not self.bound("low") * deviation < error < self.bound("high") * deviation:
            return None
        return self.found(
            f"The TD error is {error:.3g}, rewards deviate by {deviation:.3g}, and the critics "
            f"differ by {apart:.2g}.",
            "train/metrics/td_error_mean",
            error=error,
            deviation=deviation,
        )
