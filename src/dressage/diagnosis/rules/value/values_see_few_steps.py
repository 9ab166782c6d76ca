"""VAL010."""

from __future__ import annotations

import math

from dressage.diagnosis.look import done, episode_length, horizon, median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesSeeFewSteps(Rule):
    """The values are worth only a few steps of reward.

    Why it hurts
        An agent that counts only the next few rewards does not plan for what comes after.

    Evidence
        The predicted value over the mean reward a step: how many rewards it sums up; beside
        the length of episodes. Where rewards are uneven, the reward a step of late episodes.

    Threshold and source
        Fewer than 8 rewards and a tenth of an episode (guess), with values that fit their
        targets: a TD error below 15 % of them (our labelled runs: 1 % with a low discount).

    Prescription
        gamma 0.95 to 0.999: 1 / (1 - gamma) near the steps that matter.

    Known false alarms
        Tasks whose reward depends on the next step alone.

    References
        The cause gamma-too-low.
    """

    id = "VAL010"
    name = "values-see-few-steps"
    family = "value"
    severity = "medium"
    needs = ("train/roll/reward_mean", "train/roll/reward_std", "train/roll/ep_len_mean")
    either = ("train/roll/value_mean", "train/metrics/q_mean")
    thresholds = {"steps": Threshold(8.0, "guess"), "share": Threshold(0.1, "guess")}
    elsewhere = 0.03
    expected = {
        "gamma-too-low": 0.85,
        "discount-misapplied": 0.85,
        "lr-too-low": 0.1,
        "target-updates-too-rarely": 0.6,
        "td-target-wrong": 0.5,
        "truncation-as-termination": 0.15,
        "updates-too-few": 0.05,
        "optimizer-choice": 0.05,
        "updates-starved": 0.05,
        "value-clip-too-tight": 0.2,
        "optimizer-eps": 0.05,
        "target-tau-extreme": 0.7,
        "learning-starts-misplaced": 0.02,
        "value-lr-mismatch": 0.05,
        "healthy": 0.004,
    }

    def check(self, run: RunView) -> Finding | None:
        steps, length = horizon(run), episode_length(run)
        target, value = (
            median(run["train/roll/return_mean"], 0.5),
            median(run["train/roll/value_mean"], 0.5),
        )
        error = median(run["train/metrics/td_error_mean"], 0.5)
        predicted = size(run["train/metrics/q_mean"], 0.5)
        by_returns = self.by_returns(run)
        if 0.3 < by_returns < min(1.6, 2.0 * self.bound("share") * length):
            steps = by_returns  # so few that it is the discount, however much was learned
        else:
            few = 0.0 < steps < min(self.bound("steps"), self.bound("share") * length)
            unfit = abs(target - value) > 0.3 * abs(target) or error > 0.15 * predicted
            if not few or unfit or done(run):
                return None
        return self.found(
            f"The values are worth {steps:.2g} mean rewards; an episode has {length:.0f}.",
            "train/metrics/q_mean" if run["train/metrics/q_mean"] else "train/roll/value_mean",
            rewards=steps,
            length=length,
        )

    def by_returns(self, run: RunView) -> float:
        """How many mean rewards of late episodes the action values are worth, where they agree
        with their targets and with the returns that follow; NaN where they do not."""
        length = median(run["train/roll/ep_len_mean"], 0.8)
        if not length > 0:
            return math.nan
        paid = median(run["train/roll/ep_rew_mean"], 0.8) / length
        values, highest = (
            median(run[f"train/metrics/{name}"], 0.8) for name in ("q_mean", "q_max")
        )
        scale = max(abs(values), abs(highest))
        error = median(run["train/metrics/td_error_mean"], 0.8)
        gap = abs(median(run["train/metrics/q_gap"], 0.8))
        return values / paid if error < 0.05 * scale and gap < 0.1 * scale and paid else math.nan
