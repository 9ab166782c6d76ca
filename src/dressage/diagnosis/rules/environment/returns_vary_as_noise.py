"""ENV030."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ReturnsVaryAsNoise(Rule):
    """Returns vary as sums of independent draws about zero.

    Why it hurts
        Where rewards are noise there is nothing in them to learn from.

    Evidence
        The variance of returns over the variance of a reward times the length of an episode: one
        where rewards are independent. Where single rewards are not logged, the mean of the returns
        beside their deviation in each third of the run.

    Threshold and source
        Between 0.7 and 1.4 with a mean reward below 0.15 deviations, and values that explain less
        than 10 % (our labelled runs, 2026-11-16: 0.84 to 1.18 for rewards of noise; elsewhere only
        where values explain over 30 % or rewards have a mean). Without
        single rewards: a mean below 0.3 deviations in each third.

    Prescription
        Look at what the reward is computed from, and whether it depends on what was done.

    Known false alarms
        Games that are won as often as they are lost, before anything is learned.

    References
        The cause reward-uninformative.
    """

    id = "ENV030"
    name = "returns-vary-as-noise"
    family = "environment"
    severity = "high"
    needs = ("train/roll/ep_rew_mean", "train/roll/ep_len_mean")
    thresholds = {
        "ratio": Threshold(1.4, "our labelled runs, 2026-11-16"),
        "mean": Threshold(0.15, "our labelled runs, 2026-11-16"),
        "centred": Threshold(0.3, "guess"),
    }
    elsewhere = 0.004
    expected = {
        "reward-uninformative": 0.9,
        "reward-noise": 0.85,
        "reward-sign-flipped": 0.05,
        "sparse-reward": 0.05,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        if done(run):
            return None
        deviation, mean = (
            median(run["train/roll/reward_std"], 0.3),
            median(run["train/roll/reward_mean"], 0.3),
        )
        if math.isnan(deviation):
            return self._of_episodes(run)
        spread = median(run["train/roll/ep_rew_std"], 0.3)
        length = median(run["train/roll/ep_len_mean"], 0.3)
        explained = median(run["train/metrics/explained_variance"], 0.3)
        if not (deviation > 0 and length >= 4 and abs(mean) < self.bound("mean") * deviation):
            return None
        ratio = spread**2 / (length * deviation**2)
        if not 1 / self.bound("ratio") < ratio < self.bound("ratio") or explained > 0.1:
            return None
        return self.found(
            f"The variance of returns is {ratio:.2f} times that of {length:.0f} independent "
            f"rewards, whose mean is {mean / deviation:.2g} deviations.",
            "train/roll/ep_rew_mean",
            ratio=ratio,
        )

    def _of_episodes(self, run: RunView) -> Finding | None:
        single = run.episodes.returns[np.isfinite(run.episodes.returns)]
        if len(single) < 12 * FEWEST:
            raise TooLittle
        thirds = [(float(np.mean(x)), float(np.std(x))) for x in np.array_split(single, 3)]
        if not all(abs(m) < self.bound("centred") * d for m, d in thirds):
            return None
        return self.found(
            f"Returns lie about zero, with a deviation of {thirds[-1][1]:.3g}, from first to last.",
            "train/roll/ep_rew_mean",
            deviation=thirds[-1][1],
        )
