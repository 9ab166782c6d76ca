"""PRO003."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import beginning, early_spread, median, part, returns, rises
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.math.summary import moving_median
from dressage.runs.view import RunView


class ReturnFellFromItsBest(Rule):
    """The return fell far below its best, and stayed there.

    Why it hurts
        What was learned was lost.

    Evidence
        The late return against the best sustained one.

    Threshold and source
        Late median below the early one plus half of the rise to the best (guess; last below half of
        best in FAULTS), where that rise is over two deviations of single early episodes.

    Prescription
        A learning rate that decays, fewer epochs or a KL limit; keep the best checkpoint.

    Known false alarms
        Tasks with very noisy returns: the best is that of a moving median.

    References
        rlwatch and rldoctor look at the same drop.
    """

    id = "PRO003"
    name = "return-fell-from-its-best"
    family = "progress"
    severity = "high"
    thresholds = {"share": Threshold(0.5, "guess")}
    elsewhere = 0.1
    expected = {
        "lr-too-high": 0.6,
        "too-many-epochs": 0.6,
        "catastrophic-forgetting": 0.9,
        "updates-too-many": 0.6,
        "buffer-too-small": 0.6,
        "resume-lost-state": 0.4,
        "best-policy-lost": 0.8,
        "q-divergence": 0.5,
        "clip-range-too-wide": 0.5,
        "optimizer-state-corrupted": 0.6,
        "lr-decay-too-little": 0.3,
        "target-updates-too-often": 0.5,
        "healthy": 0.03,
        "terminal-not-stored": 0.3,
        "td-target-wrong": 0.15,
        "replay-corrupted": 0.15,
        "advantage-normalisation": 0.4,
        "grad-clip-missing": 0.35,
        "schedule-restarts": 0.3,
        "loaded-model-ignored": 0.4,
        "sac-alpha-explodes": 0.3,
        "gamma-too-high": 0.2,
        "target-tau-extreme": 0.3,
        "batch-too-small": 0.25,
        "rollout-too-short": 0.25,
        "entropy-collapse": 0.15,
        "weight-decay-too-strong": 0.2,
        "batch-reused": 0.35,
        "td3-smoothing-off": 0.25,
        "nan-input": 0.25,
        "policy-loss-sign": 0.1,
    }

    def check(self, run: RunView) -> Finding | None:
        series = returns(run)
        values = part(series)
        if len(values) < 20:
            raise TooLittle
        window = max(3, len(values) // 20)
        best = float(moving_median(values, window).max())
        early, late = median(series, 0.0, 0.1), median(series, 0.9)
        rise = best - early
        if not rise > 3.0 * float(np.std(part(series, 0.0, 0.1))) or rises(series, 0.5):
            return None
        if not best - beginning(run) > 2.0 * early_spread(run):
            return None  # nothing was learned that could be lost
        if not late < early + self.thresholds["share"].value * rise:
            return None
        return self.found(
            f"The return reached {best:.4g} and ended at {late:.4g}; it began at {early:.4g}.",
            "train/roll/ep_rew_mean",
            return_best=best,
            return_late=late,
            return_early=early,
        )
