"""ENV010."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, median, returns, start, task
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView

# Lowest and highest reward of a step, as documented; of those where the mean is telling.
REWARDS = {
    "CartPole": (1.0, 1.0),
    "CartPoleNoVel": (1.0, 1.0),
    "Pendulum": (-16.3, 0.0),
    "PendulumNoVel": (-16.3, 0.0),
    "MountainCar": (-1.0, -1.0),
    "MountainCarContinuous": (-0.1, 2.0),
    "Acrobot": (-1.0, 0.0),
    "InvertedPendulum": (0.0, 1.0),
    "InvertedDoublePendulum": (0.0, 10.0),
    "FrozenLake": (0.0, 1.0),
    "Blackjack": (-1.5, 1.5),
    "CliffWalking": (-100.0, -1.0),
    "Taxi": (-10.0, 20.0),
}
# Mean reward a step of actions drawn at random, where the range alone says little.
UNTRAINED = {"Pendulum": -6.1, "PendulumNoVel": -6.1, "Acrobot": -1.0}


class RewardUnlikeTheEnvironment(Rule):
    """The rewards are not those that this environment gives.

    Why it hurts
        A wrapper has changed their sign or scale, or what is logged is not what is earned.

    Evidence
        The mean return over the mean length, against the range of rewards that the
        environment documents.

    Threshold and source
        Of the other sign, outside of the documented range by a factor of five, varying by
        over 15 % where it is constant, or five times off at the start, when actions are
        random (guess).

    Prescription
        Look at the wrappers between environment and log: sign, scale, normalisation.

    Known false alarms
        Wrappers that shape the reward on purpose.

    References
        Gymnasium’s documentation of each environment.
    """

    id = "ENV010"
    name = "reward-unlike-the-environment"
    family = "environment"
    severity = "high"
    needs = ("train/roll/ep_len_mean",)
    thresholds = {"times": Threshold(5.0, "guess")}
    elsewhere = 0.01
    expected = {
        "reward-noise": 0.6,
        "reward-misaligned": 0.1,
        "reward-sign-flipped": 0.85,
        "reward-scale-too-large": 0.85,
        "reward-scale-too-small": 0.5,
        "logged-reward-normalised": 0.85,
        "reward-uninformative": 0.5,
        "reward-scale-vs-alpha": 0.6,
        "reward-hacking": 0.7,
        "critic-dominates": 0.1,
        "nan-input": 0.05,
        "grad-clip-missing": 0.2,
        "advantage-normalisation": 0.3,
        "healthy": 0.001,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and task(run) in REWARDS

    def check(self, run: RunView) -> Finding | None:
        known = REWARDS.get(task(run))
        earned, lengths = median(returns(run)), median(run["train/roll/ep_len_mean"])
        if not run["train/roll/ep_rew_mean"]:
            lengths = median(run["val/roll/ep_len_mean"])
        if known is None or not lengths > 0 or math.isnan(earned):
            return None
        reward, (low, high) = earned / lengths, known
        most, least = max(abs(low), abs(high)), min(abs(low), abs(high))
        turned = (high <= 0 and reward > 0.1 * most) or (low >= 0 and reward < -0.1 * most)
        times = self.bound("times")
        small = (low > 0 or high < 0) and abs(reward) < least / times
        single = run.episodes.returns / np.maximum(run.episodes.lengths, 1.0)
        single = single[np.isfinite(single)]
        first = start(returns(run)) / start(run["train/roll/ep_len_mean"])
        usual = UNTRAINED.get(task(run), math.nan)
        odd = max(first / usual, usual / first if first else math.inf) > times
        varies = low == high and len(single) >= 4 * FEWEST and float(np.std(single)) > 0.15 * most
        if not (turned or small or varies or odd or abs(reward) > times * most):
            return None
        return self.found(
            f"Rewards are {reward:.3g} a step on average; {run.env} gives {low:g} to {high:g}.",
            "train/roll/ep_rew_mean",
            reward=reward,
        )
