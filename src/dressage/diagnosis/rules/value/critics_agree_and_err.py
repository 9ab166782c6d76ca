"""VAL042."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CriticsAgreeAndErr(Rule):
    """The critics agree with one another, and not with their targets.

    Why it hurts
        Critics that began apart and err alike err for a reason that is not theirs: what they
        are to predict is not in what they are given.

    Evidence
        The difference between the critics beside the TD error, and that beside the rewards’
        deviation, late in the run.

    Threshold and source
        A difference below 0.4 of an error that is above 0.3 of the rewards’ deviation (our
        labelled runs: 0.8 to 0.95 and 0.14 to 0.22 where healthy).

    Prescription
        Look at what the observation lacks, at whether rewards and successors belong to their
        steps, at what ends an episode, at the target.

    Known false alarms
        Tasks with much chance in their rewards.

    References
        Chua et al. 2018, on errors of ignorance and of chance.
    """

    id = "VAL042"
    name = "critics-agree-and-err"
    family = "value"
    severity = "medium"
    families = ("actor-critic",)
    needs = (
        "train/metrics/critic_disagreement",
        "train/metrics/td_error_mean",
        "train/roll/reward_std",
        "train/roll/reward_mean",
    )
    thresholds = {
        "difference": Threshold(0.4, "our labelled runs, 2026-11-16"),
        "error": Threshold(0.3, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.25
    expected = {
        "partial-observability": 0.8,
        "obs-constant": 0.95,
        "obs-stale": 0.7,
        "reward-misaligned": 0.8,
        "reward-sign-flipped": 0.7,
        "reward-uninformative": 0.95,
        "reward-noise": 0.9,
        "truncation-as-termination": 0.9,
        "td-target-wrong": 0.6,
        "action-ignored": 0.5,
        "action-delay": 0.6,
        "obs-unnormalised": 0.9,
        "value-lr-mismatch": 0.9,
        "updates-starved": 0.8,
        "lr-too-low": 0.8,
        "optimizer-eps": 0.8,
        "replay-corrupted": 0.8,
        "reward-scale-too-large": 0.8,
        "reward-scale-too-small": 0.5,
        "sac-alpha-explodes": 0.8,
        "sac-alpha-too-high": 0.5,
        "action-space-degenerate": 0.02,
        "no-action-noise": 0.02,
        "action-noise-too-large": 0.05,
        "target-tau-extreme": 0.05,
        "policy-loss-sign": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        apart = median(run["train/metrics/critic_disagreement"], 0.6)
        error = median(run["train/metrics/td_error_mean"], 0.6)
        spread, mean = part(run["train/roll/reward_std"]), part(run["train/roll/reward_mean"])
        if not len(spread) or not len(mean):
            return None
        deviation = float(np.sqrt(np.mean(spread**2)))
        if not deviation > 0.2 * abs(float(np.mean(mean))):
            return None
        if not 0.0 < apart < self.bound("difference") * error:
            return None
        if not error > self.bound("error") * deviation:
            return None
        return self.found(
            f"The critics differ by {apart:.2g} and err by {error:.2g}; rewards deviate by "
            f"{deviation:.2g}.",
            "train/metrics/critic_disagreement",
            apart=apart,
            error=error,
        )
