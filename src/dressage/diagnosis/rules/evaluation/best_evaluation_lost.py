"""EVA004."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, beginning, early_spread, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class BestEvaluationLost(Rule):
    """The last policy is far worse than the best one evaluated.

    Why it hurts
        The best one is gone unless it was kept.

    Evidence
        The last evaluation against the best.

    Threshold and source
        The last three give back half of what the best two gained over the untrained policy (our
        labelled runs, 2026-11-16: up to 43 % where healthy), where the best of training is over two
        deviations of single early episodes above that.

    Prescription
        Keep the best checkpoint; a learning rate that decays.

    Known false alarms
        Evaluations of few episodes, whose best is luck: the mean of the best two is taken.

    References
        rldoctor looks at the same drop.
    """

    id = "EVA004"
    name = "best-evaluation-lost"
    family = "evaluation"
    severity = "medium"
    needs = ("val/roll/ep_rew_mean",)
    thresholds = {"share": Threshold(0.5, "our labelled runs, 2026-11-16")}
    elsewhere = 0.12
    expected = {
        "best-policy-lost": 0.85,
        "catastrophic-forgetting": 0.7,
        "lr-too-high": 0.4,
        "too-many-epochs": 0.35,
        "lr-decay-too-little": 0.35,
        "buffer-too-small": 0.4,
        "updates-too-many": 0.35,
        "q-divergence": 0.35,
        "optimizer-state-corrupted": 0.4,
        "resume-lost-state": 0.3,
        "target-updates-too-often": 0.35,
        "clip-range-too-wide": 0.3,
        "offline-overestimation": 0.5,
        "bc-covariate-shift": 0.2,
        "schedule-restarts": 0.3,
        "batch-too-small": 0.2,
        "sac-alpha-explodes": 0.2,
        "batch-reused": 0.2,
        "td3-smoothing-off": 0.2,
        "normaliser-mismatch": 0.15,
        "healthy": 0.05,
    }

    def check(self, run: RunView) -> Finding | None:
        values = part(run["val/roll/ep_rew_mean"])
        if len(values) < FEWEST:
            raise TooLittle
        best = float(np.sort(values)[-2:].mean())
        last, first = float(np.median(values[-3:])), beginning(run)
        rise = best - (first if run["train/roll/ep_rew_mean"] else float(values.min()))
        spread = median(run["val/roll/ep_rew_std"])
        spread = spread if spread == spread else 0.1 * rise
        if not (best - last > self.bound("share") * rise and best - last > 2.0 * spread):
            return None
        highest = float(np.max(part(returns(run)), initial=-np.inf))
        if not highest - first > 2.0 * early_spread(run):
            return None  # nothing was learned that could be lost
        return self.found(
            f"The best evaluations gave {best:.4g}, the last {last:.4g}.",
            "val/roll/ep_rew_mean",
            best=best,
            last=last,
        )
