"""VAL040."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ErrorsLargeBesideRewards(Rule):
    """Late TD errors are as large as rewards differ.

    Why it hurts
        Values that fit know the next reward; these do not, and the policy follows them.

    Evidence
        The TD error late in the run beside the deviation of the rewards over all of it.

    Threshold and source
        Above 0.55, or 0.65 where the return has risen, of rewards whose deviation is above half
        of their mean (our labelled runs: at most 0.44 where healthy).

    Prescription
        Look at whether rewards belong to their steps, at the target, at the scale of
        observations, at the rate of the values.

    Known false alarms
        Rewards that hardly differ, which are left out.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "VAL040"
    name = "errors-large-beside-rewards"
    family = "value"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/td_error_mean", "train/roll/reward_std", "train/roll/reward_mean")
    thresholds = {
        "share": Threshold(0.55, "our labelled runs, 2026-11-16"),
        "learned": Threshold(0.65, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.2
    expected = {
        "reward-noise": 0.9,
        "reward-uninformative": 0.9,
        "reward-misaligned": 0.6,
        "reward-sign-flipped": 0.5,
        "td-target-wrong": 0.6,
        "truncation-as-termination": 0.7,
        "obs-stale": 0.6,
        "obs-unnormalised": 0.9,
        "obs-constant": 0.6,
        "lr-too-high": 0.7,
        "lr-too-low": 0.7,
        "optimizer-eps": 0.7,
        "optimizer-choice": 0.7,
        "value-lr-mismatch": 0.9,
        "updates-starved": 0.9,
        "updates-too-few": 0.6,
        "replay-corrupted": 0.7,
        "reward-scale-too-small": 0.7,
        "reward-scale-vs-alpha": 0.6,
        "reward-scale-too-large": 0.5,
        "sac-alpha-explodes": 0.9,
        "actor-saturation": 0.6,
        "q-divergence": 0.8,
        "bad-initialisation": 0.5,
        "output-activation": 0.7,
        "gamma-too-low": 0.05,
        "target-tau-extreme": 0.05,
        "no-action-noise": 0.05,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        error = median(run["train/metrics/td_error_mean"], 0.6)
        spread, mean = part(run["train/roll/reward_std"]), part(run["train/roll/reward_mean"])
        if not len(spread) or not len(mean):
            return None
        deviation = float(np.sqrt(np.mean(spread**2)))
        if not deviation > 0.5 * abs(float(np.mean(mean))):
            return None
        share = self.bound("learned" if done(run) else "share")
        if not error > share * deviation:
            return None
        return self.found(
            f"The TD error is {error:.3g} late in the run; rewards deviate by {deviation:.3g}.",
            "train/metrics/td_error_mean",
            error=error,
            deviation=deviation,
        )
