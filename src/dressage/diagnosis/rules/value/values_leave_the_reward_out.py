"""VAL036."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesLeaveTheRewardOut(Rule):
    """The values fit their targets, and are worth less than one mean reward.

    Why it hurts
        A target is a reward and what comes after it. Values below the first part alone were
        taught something else.

    Evidence
        In the mean, reward = value - discount times next value + error: a mean reward cannot
        exceed the value of its sign and the TD error together, whatever the discount.

    Threshold and source
        Value and error together below 0.7 of the mean reward a step; or, where rewards are
        uneven, an error below 0.05 and values below 0.1 of their deviation (arithmetic).

    Prescription
        Look at the target: reward plus the discounted value of the successor, with these
        signs.

    Known false alarms
        SAC, whose entropy counts as a reward: it is added. Rewards that change much over the
        run, since values know those of the whole memory: both halves are looked at.

    References
        RLMutation, wrong loss functions.
    """

    id = "VAL036"
    name = "values-leave-the-reward-out"
    family = "value"
    severity = "critical"
    families = ("value-based", "actor-critic")
    needs = (
        "train/metrics/q_mean",
        "train/metrics/td_error_mean",
        "train/roll/reward_mean",
        "train/roll/reward_std",
    )
    thresholds = {"share": Threshold(0.7, "arithmetic")}
    elsewhere = 0.005
    expected = {
        "td-target-wrong": 0.6,
        "output-activation": 0.1,
        "discount-misapplied": 0.05,
        "shape-broadcast": 0.02,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        values = median(run["train/metrics/q_mean"], 0.6)
        error = median(run["train/metrics/td_error_mean"], 0.6)
        halves = [median(run["train/roll/reward_mean"], *h) for h in ((0.1, 0.5), (0.5, 1.0))]
        bonus = 0.0
        if run["train/metrics/alpha"]:
            bonus = median(run["train/metrics/alpha"], 0.6) * median(
                run["train/metrics/entropy"], 0.6
            )
        paid = [half + bonus for half in halves]
        reward, spread = min(paid, key=abs), median(run["train/roll/reward_std"], 0.1)
        known = max(math.copysign(values, values * reward), 0.0) + error
        even = paid[0] * paid[1] > 0.0 and abs(reward) > 0.2 * spread
        less = even and known < self.bound("share") * abs(reward)
        highest = size(run["train/metrics/q_max"], 0.6)
        flat = error < 0.05 * spread and max(abs(values), highest) < 0.1 * spread
        if not (less or flat):
            return None
        return self.found(
            f"Values are {values:.2g} and their errors {error:.2g}, beside a mean reward of "
            f"{reward:.2g} a step.",
            "train/metrics/q_mean",
            values=values,
            reward=reward,
        )
