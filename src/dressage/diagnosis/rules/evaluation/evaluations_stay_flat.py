"""EVA030."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, beginning, early_spread, learned, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EvaluationsStayFlat(Rule):
    """Training rises and evaluations do not.

    Why it hurts
        What is learned is of no use where it is evaluated: the two play different games.

    Evidence
        The last evaluations beside the first returns of training, and beside the last.

    Threshold and source
        Evaluations that gained less than a third of what training gained, and end over a deviation
        of late training episodes below it (guess).

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
    thresholds = {"share": Threshold(0.33, "guess"), "deviations": Threshold(1.0, "guess")}
    elsewhere = 0.004
    expected = {
        "eval-env-mismatch": 0.9,
        "normaliser-mismatch": 0.9,
        "obs-stale": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        held_out, curve = part(run["val/roll/ep_rew_mean"], 0.4), returns(run)
        if len(held_out) < FEWEST or not learned(run):
            return None
        level, first, late = float(np.median(held_out)), beginning(run), median(curve, 0.4)
        if not late - first > 2.0 * early_spread(run):
            return None
        spread = median(run["train/roll/ep_rew_std"], 0.4)
        spread = spread if spread == spread else float(np.std(part(curve, 0.4)))
        if not (
            level - first < self.bound("share") * (late - first)
            and late - level > self.bound("deviations") * spread
        ):
            return None
        return self.found(
            f"Training rose from {first:.4g} to {late:.4g}; evaluations give {level:.4g}.",
            "val/roll/ep_rew_mean",
            evaluation=level,
            training=late,
        )
