"""ENV004."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median, returns, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsTiny(Rule):
    """Rewards are far below one.

    Why it hurts
        Entropy bonuses, temperatures and optimizer epsilons are made for rewards near one,
        and outweigh such small ones.

    Evidence
        Mean and deviation of the reward a step as the learner sees it, or the return over
        the length of an episode.

    Threshold and source
        Below 5e-3 and not zero (guess).

    Prescription
        Multiply the reward, or normalize_reward=true; divide ent_coef.

    Known false alarms
        Rare rewards, whose mean is small though each is large; their deviation is looked
        at.

    References
        The cause reward-scale-too-small.
    """

    id = "ENV004"
    name = "rewards-tiny"
    family = "environment"
    severity = "medium"
    either = ("train/roll/reward_std", "train/roll/ep_len_mean")
    thresholds = {"scale": Threshold(0.005, "guess")}
    expected = {
        "reward-scale-too-small": 0.95,
        "sparse-reward": 0.2,
        "logged-reward-normalised": 0.05,
        "sac-alpha-too-high": 0.02,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        # early: a cost that is learned away is tiny in the end
        spread, mean = run["train/roll/reward_std"], run["train/roll/reward_mean"]
        sizes = [size(one, 0.0, late) for one in (spread, mean) for late in (0.2, 1.0)]
        # as logged, since rewards that the learner normalises shrink beside the first ones
        length = median(run["train/roll/ep_len_mean"], 0.0, 0.3)
        if length > 0:
            sizes.append(size(returns(run), 0.0, 0.3) / length)
        scale = max((known for known in sizes if not math.isnan(known)), default=math.nan)
        if not 0 < scale < self.bound("scale"):
            return None
        return self.found(
            f"Rewards are about {scale:.2g} a step; about 1 is what settings are made for.",
            "train/roll/reward_std",
            scale=scale,
        )
