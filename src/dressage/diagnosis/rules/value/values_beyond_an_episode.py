"""VAL011."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import episode_length, horizon, median, part, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


def usual_reward(run: RunView) -> float:
    """The size of a reward over all of the run, since a memory holds those of all of it; 0 where it
    is not known."""
    mean, spread = part(run["train/roll/reward_mean"]), part(run["train/roll/reward_std"])
    squares = [float(np.mean(values**2)) for values in (mean, spread) if len(values)]
    return math.sqrt(sum(squares))


class ValuesBeyondAnEpisode(Rule):
    """The values are larger than a whole episode can be worth.

    Why it hurts
        Values that count rewards after the end feed on themselves.

    Evidence
        The predicted value over the mean reward a step, against the length of episodes in
        training and evaluation; of a value function its targets as well, early in the run.

    Threshold and source
        More than 2 episodes’ worth (guess; a discounted sum is below one), or targets of more
        than 1.15 between 10 % and 60 % of the run (our labelled runs: at most 1.01 where
        healthy, 1.2 to 2.1 where episodes run into one another).

    Prescription
        Store the end of the task and do not bootstrap past it; check the discount in the
        target.

    Known false alarms
        Episodes that are cut short by a time limit and bootstrap beyond it on purpose;
        those at the limit are left out.

    References
        RLMutation, missing terminal state; keras-rl issue 298.
    """

    id = "VAL011"
    name = "values-beyond-an-episode"
    family = "value"
    severity = "high"
    needs = ("train/roll/reward_mean", "train/roll/reward_std", "train/roll/ep_len_mean")
    either = ("train/roll/value_mean", "train/metrics/q_mean")
    thresholds = {
        "times": Threshold(2.0, "guess"),
        "early": Threshold(1.15, "our labelled runs, 2026-11-16"),
    }
    expected = {
        "terminal-not-stored": 0.8,
        "q-divergence": 0.7,
        "discount-misapplied": 0.4,
        "td-target-wrong": 0.3,
        "gamma-too-high": 0.4,
        "autoreset-leak": 0.9,
        "lr-too-high": 0.3,
        "target-updates-too-often": 0.35,
        "no-exploration": 0.3,
        "policy-loss-sign": 0.1,
        "obs-constant": 0.2,
        "replay-corrupted": 0.4,
        "updates-too-many": 0.3,
        "sac-alpha-explodes": 0.3,
        "reward-scale-too-large": 0.2,
        "buffer-too-small": 0.2,
        "grad-clip-missing": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        steps, length = horizon(run, 0.7), episode_length(run, 0.7)
        cut = median(run["train/roll/truncated_share"], 0.7)
        late = not cut > 0.5 and steps > self.bound("times") * length
        if not steps > 0.0:  # uneven rewards, or of the other sign: beside the usual size of one
            usual = usual_reward(run)
            steps = size(run["train/metrics/q_mean"], 0.7) / usual if usual > 1e-6 else math.nan
            late = steps > max(5.0 * length, 200.0)
        if not late:
            steps, length = self.early(run)
        if not (late or steps > self.bound("early") * length):
            return None
        return self.found(
            f"The values are worth {steps:.3g} mean rewards; an episode has {length:.0f} steps.",
            "train/metrics/q_mean" if run["train/metrics/q_mean"] else "train/roll/value_mean",
            rewards=steps,
            length=length,
        )

    def early(self, run: RunView) -> tuple[float, float]:
        """What the targets of a value function are worth, and how long episodes are, before those
        are as long as the discount looks ahead."""
        target, reward, spread, length, cut = (
            median(run[f"train/roll/{name}"], 0.1, 0.6)
            for name in (
                "return_mean", "reward_mean", "reward_std", "ep_len_mean", "truncated_share",
            )
        )  # fmt: skip
        if cut > 0.5 or not abs(reward) > max(spread, 1e-9):  # a prize at the end looks the same
            return math.nan, length
        return target / reward, length
