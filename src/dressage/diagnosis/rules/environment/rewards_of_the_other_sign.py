"""ENV045."""

from __future__ import annotations

from dressage.diagnosis.look import opposite_rewards
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsOfTheOtherSign(Rule):
    """What is learned from has the other sign than what episodes are said to return.

    Why it hurts
        The agent learns to lose: a wrapper between the environment and the learner turns the reward
        round.

    Evidence
        The mean reward that the learner sees, beside the mean return over the mean length, row by
        row.

    Threshold and source
        Of other signs in more than 0.6 of the rows (our labelled runs, 2026-11-18: 52 of 52 with a
        sign that is turned round behind the log, at most 0.41 of 658 healthy ones).

    Prescription
        Look at the wrappers outside of what logs episodes, and mend the one that negates.

    Known false alarms
        Rewards that are centred on purpose.

    References
        The metrics train/roll/reward_mean and train/roll/ep_rew_mean.
    """

    id = "ENV045"
    name = "rewards-of-the-other-sign"
    family = "environment"
    severity = "critical"
    needs = (
        "train/roll/reward_mean",
        "train/roll/ep_rew_mean",
        "train/roll/ep_len_mean",
    )
    thresholds = {"share": Threshold(0.6, "our labelled runs, 2026-11-18")}
    elsewhere = 0.002
    expected = {
        "reward-sign-flipped": 0.4,
        "reward-uninformative": 0.1,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        share = opposite_rewards(run)
        if not share > self.bound("share"):
            return None
        return self.found(
            f"In {share:.0%} of the rows the reward that is learned from has another sign than the "
            "return that is logged.",
            "train/roll/reward_mean",
            share=share,
        )
