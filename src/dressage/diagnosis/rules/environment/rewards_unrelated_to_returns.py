"""ENV047."""

from __future__ import annotations

from dressage.diagnosis.look import opposite_rewards
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsUnrelatedToReturns(Rule):
    """What is learned from has now the sign of the logged returns, now the other.

    Why it hurts
        A reward that has nothing to do with what is done teaches nothing.

    Evidence
        The mean reward that the learner sees, beside the mean return over the mean length, row by
        row.

    Threshold and source
        Of other signs in 0.3 to 0.6 of the rows (our labelled runs, 2026-11-18: 21 of 23 with
        rewards that are replaced by noise behind the log; two healthy runs, of Swimmer, whose
        rewards begin near zero).

    Prescription
        Look at the wrappers outside of what logs episodes, and print rewards beside what the
        environment gave.

    Known false alarms
        Tasks whose returns lie around zero.

    References
        The metrics train/roll/reward_mean and train/roll/ep_rew_mean.
    """

    id = "ENV047"
    name = "rewards-unrelated-to-returns"
    family = "environment"
    severity = "high"
    needs = (
        "train/roll/reward_mean",
        "train/roll/ep_rew_mean",
        "train/roll/ep_len_mean",
    )
    thresholds = {
        "least": Threshold(0.3, "our labelled runs, 2026-11-18"),
        "most": Threshold(0.6, "our labelled runs, 2026-11-18"),
    }
    elsewhere = 0.01
    expected = {
        "reward-uninformative": 0.4,
        "reward-noise": 0.2,
        "reward-sign-flipped": 0.05,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        share = opposite_rewards(run)
        if not self.bound("least") < share <= self.bound("most"):
            return None
        return self.found(
            f"In {share:.0%} of the rows the reward that is learned from has another sign than the "
            "return that is logged, in the others the same.",
            "train/roll/reward_mean",
            share=share,
        )
