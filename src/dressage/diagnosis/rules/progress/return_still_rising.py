"""PRO002."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import part, returns, rises, slope, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ReturnStillRising(Rule):
    """The return was still rising when the run ended.

    Why it hurts
        The run may be healthy, and simply not done.

    Evidence
        The trend of the return over the last quarter of the run.

    Threshold and source
        A rising trend (Mann-Kendall, p below 0.01) whose change is over 5 % of the whole rise
        (guess).

    Prescription
        A larger budget.

    Known false alarms
        A return that rises for ever (throughput tasks).

    References
        Mann 1945, Kendall 1975; muPRL’s operator that cuts the budget.
    """

    id = "PRO002"
    name = "return-still-rising"
    family = "progress"
    severity = "medium"
    thresholds = {"share": Threshold(0.05, "guess")}
    elsewhere = 0.2
    expected = {
        "budget-too-small": 0.95,
        "lr-too-low": 0.3,
        "batch-too-large": 0.5,
        "rollout-too-long": 0.5,
        "clip-range-too-tight": 0.3,
        "healthy": 0.25,
        "target-kl-too-tight": 0.3,
        "optimizer-eps": 0.2,
        "updates-too-few": 0.5,
        "learning-starts-misplaced": 0.5,
        "grad-clip-too-tight": 0.3,
        "target-updates-too-rarely": 0.3,
        "critic-too-weak": 0.2,
        "action-noise-too-large": 0.2,
        "updates-starved": 0.3,
        "reward-scale-too-small": 0.2,
        "hardware-underused": 0.2,
        "pipeline-bottleneck": 0.2,
        "throughput-decay": 0.2,
        "entropy-bonus-too-high": 0.15,
        "network-too-small": 0.2,
        "activation-choice": 0.35,
        "gae-lambda-extreme": 0.25,
        "reward-misaligned": 0.3,
        "envs-share-seed": 0.25,
        "autoreset-leak": 0.2,
        "reward-noise": 0.25,
        "batch-not-dividing-rollout": 0.25,
        "single-seed-claim": 0.25,
        "normaliser-mismatch": 0.25,
        "logged-reward-normalised": 0.25,
        "eval-env-mismatch": 0.25,
    }

    def check(self, run: RunView) -> Finding | None:
        series = returns(run)
        whole = part(series)
        if len(whole) < 10:
            raise TooLittle
        if not rises(series, 0.75):
            return None
        last, height = slope(series, 0.75), float(np.ptp(whole))
        if solved(run):
            return None
        if not last > self.thresholds["share"].value * height:
            return None
        return self.found(
            f"The return rose by {last:.4g} in the last quarter of the run, of {height:.4g} in "
            "all.",
            "train/roll/ep_rew_mean",
            rise_last_quarter=last,
            rise_whole=height,
        )
