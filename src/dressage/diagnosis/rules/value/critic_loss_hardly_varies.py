"""VAL046."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class CriticLossHardlyVaries(Rule):
    """The critic's loss never rises far above its usual level.

    Why it hurts
        Values that are learned leave large errors behind; a loss without a peak is one of targets
        that hold no surprise, or of steps too small to meet one.

    Evidence
        The largest loss of the critic beside its median.

    Threshold and source
        Less than three times it (our labelled runs, 2026-11-17: one healthy run in five).

    Prescription
        See what else is seen: rates, updates and targets.

    Known false alarms
        Dense rewards of one size.

    References
        None.
    """

    id = "VAL046"
    name = "critic-loss-hardly-varies"
    family = "value"
    severity = "medium"
    stands_in = True
    needs = ("train/loss/critic",)
    families = ("actor-critic",)
    thresholds = {"times": Threshold(3.0, "our labelled runs, 2026-11-17")}
    elsewhere = 0.28
    expected = {
        "truncation-as-termination": 0.64,
        "updates-starved": 0.64,
        "value-lr-mismatch": 0.64,
        "obs-constant": 0.71,
        "reward-uninformative": 0.71,
        "lr-too-low": 0.64,
        "updates-too-few": 0.61,
        "reward-misaligned": 0.51,
        "reward-sign-flipped": 0.56,
        "replay-corrupted": 0.51,
        "obs-stale": 0.54,
        "actor-saturation": 0.14,
        "obs-unnormalised": 0.11,
        "target-tau-extreme": 0.14,
        "action-delay": 0.11,
        "action-space-degenerate": 0.11,
        "eval-env-mismatch": 0.14,
        "nan-input": 0.11,
        "reward-scale-too-large": 0.14,
        "learning-starts-misplaced": 0.11,
        "optimizer-state-corrupted": 0.14,
        "weight-decay-too-strong": 0.14,
        "batch-too-small": 0.14,
        "bad-initialisation": 0.14,
        "loaded-model-ignored": 0.14,
        "healthy": 0.182,
    }

    def check(self, run: RunView) -> Finding | None:
        loss = part(run["train/loss/critic"])
        if len(loss) < 2 * FEWEST:
            raise TooLittle
        highest, usual = float(loss.max()), float(np.median(loss))
        if not highest < self.bound("times") * usual:
            return None
        return self.found(
            f"{run.own_name('train/loss/critic')} is {usual:.3g} as a rule, {highest:.3g} at most.",
            "train/loss/critic",
            usual=usual,
            highest=highest,
        )
