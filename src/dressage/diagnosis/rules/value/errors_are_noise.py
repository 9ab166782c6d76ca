"""VAL039."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ErrorsAreNoise(Rule):
    """The TD error is that of guessing a random reward, from the first update to the last.

    Why it hurts
        What is paid does not follow from what is seen and done: nothing that is learned
        predicts any of it.

    Evidence
        The TD error beside the deviation of the rewards: 0.8 of it for noise around a mean that
        is known (the mean size of a normal number), more with returns of several steps.

    Threshold and source
        At least 0.7 in 90 % of the run, steady within a factor of 1.5, of rewards whose mean
        is below half of their deviation (arithmetic; 0.8 in our labelled runs with noise, at
        most 0.3 where healthy).

    Prescription
        Look at what the reward is computed from; rewards without noise, or far larger batches.

    Known false alarms
        Values that are not learned at all, in a task whose rewards are of either sign.

    References
        The mean absolute deviation of a normal number.
    """

    id = "VAL039"
    name = "errors-are-noise"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/td_error_mean", "train/roll/reward_std", "train/roll/reward_mean")
    thresholds = {"share": Threshold(0.7, "arithmetic"), "steady": Threshold(1.5, "guess")}
    elsewhere = 0.004
    expected = {
        "reward-noise": 0.9,
        "reward-uninformative": 0.9,
        "reward-sign-flipped": 0.03,
        "lr-too-low": 0.03,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        error = part(run["train/metrics/td_error_mean"], 0.02)
        spread, mean = part(run["train/roll/reward_std"]), part(run["train/roll/reward_mean"])
        if len(error) < 2 * FEWEST:
            raise TooLittle
        if not len(spread) or not len(mean):
            return None
        deviation = float(np.sqrt(np.mean(spread**2)))
        low, high = (float(q) for q in np.quantile(error, (0.1, 0.9)))
        if not abs(float(np.mean(mean))) < 0.5 * deviation:
            return None
        if not low > self.bound("share") * deviation or high > self.bound("steady") * low:
            return None
        return self.found(
            f"The TD error stays between {low:.3g} and {high:.3g}; rewards deviate by "
            f"{deviation:.3g}.",
            "train/metrics/td_error_mean",
            error=low,
            deviation=deviation,
        )
