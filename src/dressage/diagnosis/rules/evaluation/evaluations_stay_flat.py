"""EVA030."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, beginning, early_spread, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EvaluationsStayFlat(Rule):
    """Training rises and evaluations lag far behind.

    Why it hurts
        What is learned is of no use where it is evaluated: the two play different games.

    Evidence
        The last evaluations beside the first returns of training, and beside the last.

    Threshold and source
        Nine of ten late evaluations below training, with less than three quarters of what training
        gained (our labelled runs, 2026-11-16: at most 0.69 of it with another environment, at least
        0.84 where healthy).

    Prescription
        The same wrappers and the training normalisers, frozen, in the evaluation.

    Known false alarms
        Policies that need their noise.

    References
        SB3’s documentation on VecNormalize and evaluation.
    """

    id = "EVA030"
    name = "evaluations-stay-flat"
    family = "evaluation"
    severity = "high"
    needs = ("train/roll/ep_rew_mean", "val/roll/ep_rew_mean")
    thresholds = {
        "share": Threshold(0.75, "our labelled runs, 2026-11-16"),
        "below": Threshold(0.9, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.004
    expected = {
        "eval-env-mismatch": 0.9,
        "normaliser-mismatch": 0.9,
        "obs-stale": 0.1,
        "partial-observability": 0.2,  # without its noise a policy that sees too little is stuck
        "obs-constant": 0.2,
        "obs-unnormalised": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        held_out, curve = part(run["val/roll/ep_rew_mean"], 0.4), returns(run)
        if len(held_out) < FEWEST:
            raise TooLittle
        level, first, late = float(np.median(held_out)), beginning(run), median(curve, 0.4)
        if not late - first > 1.5 * early_spread(run):
            return None
        below = float((held_out < late).mean())
        if below < self.bound("below") or not level - first < self.bound("share") * (late - first):
            return None
        return self.found(
            f"Training rose from {first:.4g} to {late:.4g}; evaluations give {level:.4g}.",
            "val/roll/ep_rew_mean",
            evaluation=level,
            training=late,
        )
