"""EVA001."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, late_episodes, learned, median, part, returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EvaluationFarBelowTraining(Rule):
    """The evaluated policy is far worse than the one that trains.

    Why it hurts
        The number that counts is not the one that was optimised: normalisers, wrappers or the
        environment differ.

    Evidence
        The late evaluation return against the late training return, beside the spread of training
        returns.

    Threshold and source
        More than three deviations below, or less than a fifth of what training gained (guess).

    Prescription
        Evaluate with the training normalisers, frozen, and the same wrappers.

    Known false alarms
        Policies that need their noise (stochastic games, exploration in the open).

    References
        SB3’s documentation on VecNormalize and evaluation.
    """

    id = "EVA001"
    name = "evaluation-far-below-training"
    family = "evaluation"
    severity = "high"
    needs = ("train/roll/ep_rew_mean", "val/roll/ep_rew_mean")
    thresholds = {"deviations": Threshold(3.0, "guess"), "share": Threshold(0.2, "guess")}
    elsewhere = 0.02
    expected = {
        "normaliser-mismatch": 0.9,
        "eval-env-mismatch": 0.9,
        "logged-reward-normalised": 0.6,
        "healthy": 0.002,
        "best-policy-lost": 0.2,
        "distributed-desync": 0.05,
        "catastrophic-forgetting": 0.15,
        "bc-covariate-shift": 0.2,
        "autoreset-leak": 0.02,
        "partial-observability": 0.2,  # without its noise a policy that sees too little is stuck
        "obs-constant": 0.2,
        "obs-stale": 0.1,
        "obs-unnormalised": 0.1,
    }

    def check(self, run: RunView) -> Finding | None:
        train, spread = returns(run), run["train/roll/ep_rew_std"]
        evaluations, late = part(run["val/roll/ep_rew_mean"], 0.6), part(train, 0.5)
        if not len(evaluations) or not len(late):
            return None
        trained, held_out = median(train, 0.8), float(np.median(evaluations))
        single = late_episodes(run, 0.7)
        deviation = median(spread, 0.8) if spread else float(np.std(late))
        if len(single) >= FEWEST:  # what is logged is of older episodes too
            deviation = float(np.std(single))
        deviation = max(deviation, 0.05 * abs(trained))
        far = held_out < trained - self.bound("deviations") * deviation
        first = start(train)
        gained = held_out - first < self.bound("share") * (trained - first)
        if not far and not (gained and learned(run)):
            return None
        return self.found(
            f"Evaluations give {held_out:.4g}, training {trained:.4g} with a deviation of "
            f"{deviation:.3g}.",
            "val/roll/ep_rew_mean",
            evaluation=held_out,
            training=trained,
        )
