"""ENV035."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class RewardsNotForeseen(Rule):
    """Errors of the action values stay as large as the rewards vary.

    Why it hurts
        State and action say nothing of the reward that follows: it is noise, or belongs to another
        step.

    Evidence
        The mean TD error beside the deviation of the reward, where the return does not rise.

    Threshold and source
        Between 0.3 and 1.1 of it (our labelled runs, 2026-11-16: 0.8 for rewards of noise, 0.34 to
        0.63 for rewards that come late; below 0.3 in all but one task that is learned).

    Prescription
        Look at which step a reward belongs to, and what it is computed from.

    Known false alarms
        Tasks that pay at their end alone, early in training.

    References
        The causes reward-misaligned and reward-uninformative.
    """

    id = "ENV035"
    name = "rewards-not-foreseen"
    family = "environment"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/td_error_mean", "train/roll/reward_std")
    thresholds = {
        "least": Threshold(0.3, "our labelled runs, 2026-11-16"),
        "most": Threshold(1.1, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.08
    expected = {
        "reward-misaligned": 0.9,
        "reward-uninformative": 0.95,
        "reward-noise": 0.9,
        "reward-sign-flipped": 0.7,
        "td-target-wrong": 0.4,
        "truncation-as-termination": 0.4,
        "replay-corrupted": 0.3,
        "obs-stale": 0.4,
        "obs-constant": 0.5,
        "partial-observability": 0.4,
        "action-ignored": 0.4,
        "action-delay": 0.4,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        error, spreads = (
            median(run["train/metrics/td_error_mean"], 0.3),
            part(run["train/roll/reward_std"]),
        )
        if len(spreads) < 2 * FEWEST:
            raise TooLittle
        if done(run):
            return None
        usual = float(np.quantile(spreads, 0.75))
        if not (usual > 0 and self.bound("least") < error / usual < self.bound("most")):
            return None
        return self.found(
            f"The TD error is {error:.3g}, and the reward deviates by {usual:.3g}.",
            "train/metrics/td_error_mean",
            share=error / usual,
        )
