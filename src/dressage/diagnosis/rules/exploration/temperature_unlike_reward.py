"""EXP014."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, median, part, size
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class TemperatureUnlikeReward(Rule):
    """A fixed temperature does not fit the scale of the rewards.

    Why it hurts
        Far above the rewards, the policy maximises entropy; far below, it explores nothing.

    Evidence
        The temperature where it never changes, over the size of the reward a step, or where that is
        not logged over the return by the episode’s length.

    Threshold and source
        A ratio above 1 or below 1e-3 (guess; 0.2 for rewards near one in the paper).

    Prescription
        ent_coef auto, or 0.1 to 0.2 with rewards scaled to one.

    Known false alarms
        Rewards whose size says little (long runs of zeros).

    References
        Haarnoja et al. 2018, section 5.2: temperature as inverse reward scale.
    """

    id = "EXP014"
    name = "temperature-unlike-reward"
    family = "exploration"
    severity = "high"
    families = ("actor-critic",)
    needs = ("train/metrics/alpha",)
    either = ("train/roll/reward_std", "train/roll/ep_rew_mean")
    thresholds = {"low": Threshold(0.001, "guess"), "high": Threshold(1.0, "guess")}
    elsewhere = 0.01
    expected = {
        "sac-alpha-too-high": 0.9,
        "sac-alpha-too-low": 0.85,
        "reward-scale-vs-alpha": 0.9,
        "reward-scale-too-small": 0.2,
        "reward-scale-too-large": 0.2,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        alpha = part(run["train/metrics/alpha"])
        spread = median(run["train/roll/reward_std"], 0.0, 0.5)
        mean = size(run["train/roll/reward_mean"], 0.0, 0.5)
        length = max(median(run["train/roll/ep_len_mean"]), 1.0)  # nan stays
        of_all = size(run["train/roll/ep_rew_mean"]) / length
        scale = of_all if math.isnan(spread) else max(spread, mean)
        if len(alpha) < FEWEST:
            raise TooLittle
        if np.ptp(alpha) > 1e-6 * abs(alpha[0]) or not scale > 0:
            return None
        ratio = float(alpha[0]) / scale
        if self.bound("low") <= ratio <= self.bound("high"):
            return None
        return self.found(
            f"The temperature is fixed at {alpha[0]:.3g} beside rewards of {scale:.3g} a step.",
            "train/metrics/alpha",
            ratio=ratio,
        )
