"""ENV046."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import rewards_beside_logged
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsLargerThanLogged(Rule):
    """What is learned from is many times larger than what episodes are said to return.

    Why it hurts
        Large targets make large gradients; the log shows nothing of them.

    Evidence
        The mean reward that the learner sees, beside the mean return over the mean length.

    Threshold and source
        More than 30 times, and above 10 (our labelled runs, 2026-11-18: 52 of 52 with rewards that
        are enlarged behind the log, none of 658 healthy ones).

    Prescription
        Look at the wrappers outside of what logs episodes; normalize_reward=true.

    Known false alarms
        None known: normalising never makes rewards as large.

    References
        The metrics train/roll/reward_mean and train/roll/ep_rew_mean.
    """

    id = "ENV046"
    name = "rewards-larger-than-logged"
    family = "environment"
    severity = "high"
    needs = (
        "train/roll/reward_mean",
        "train/roll/ep_rew_mean",
        "train/roll/ep_len_mean",
    )
    thresholds = {
        "times": Threshold(30.0, "our labelled runs, 2026-11-18"),
        "size": Threshold(10.0, "our labelled runs, 2026-11-18"),
    }
    elsewhere = 0.002
    expected = {
        "reward-scale-too-large": 0.4,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        learned, logged = rewards_beside_logged(run)
        if not len(learned):
            return None
        size, said = float(np.median(np.abs(learned))), float(np.median(np.abs(logged)))
        if not size > max(self.bound("size"), self.bound("times") * said):
            return None
        return self.found(
            f"The reward that is learned from is {size:.3g} a step, by logged returns {said:.3g}.",
            "train/roll/reward_mean",
            learned=size,
            logged=said,
        )
