"""EVA002."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median, part, returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class TrainingFarBelowEvaluation(Rule):
    """The policy that trains earns far less than the one that is evaluated.

    Why it hurts
        The noise of training, not the policy, sets what is logged, and what is learned is
        about that noise.

    Evidence
        Late training returns, of single episodes where known, against late evaluations.

    Threshold and source
        A gap of over 0.4 of the evaluation’s rise, and of three deviations (guess).
        Policies that sample their actions earn less than their most probable action:
        on-policy algorithms are left out.

    Prescription
        A final epsilon of 0.01 to 0.1; action noise near 0.1.

    Known false alarms
        Means over many old episodes that trail a fast rise: the last episodes are looked
        at.

    References
        muPRL; SB3’s documentation of evaluation.
    """

    id = "EVA002"
    name = "training-far-below-evaluation"
    family = "evaluation"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = ("train/roll/ep_rew_mean", "val/roll/ep_rew_mean")
    thresholds = {"share": Threshold(0.4, "guess"), "spreads": Threshold(3.0, "guess")}
    elsewhere = 0.03
    expected = {
        "final-epsilon-too-high": 0.85,
        "action-noise-too-large": 0.85,
        "logged-reward-normalised": 0.6,
        "sac-alpha-too-high": 0.5,
        "eval-env-mismatch": 0.3,
        "sac-alpha-explodes": 0.2,
        "reward-scale-too-small": 0.1,
        "weight-decay-too-strong": 0.1,
        "learning-starts-misplaced": 0.15,
        "healthy": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        curve, held_out = returns(run), part(run["val/roll/ep_rew_mean"], 0.7)
        if len(held_out) < 2 or not curve:
            raise TooLittle
        single = run.episodes.returns[run.episodes.env_steps > 0.85 * run.env_steps]
        single = single[np.isfinite(single)]
        enough = len(single) >= 3
        trained = float(np.median(single)) if enough else median(curve, 0.9)
        spread = float(np.std(single)) if enough else median(run["train/roll/ep_rew_std"], 0.9)
        spread = spread if spread == spread else float(np.std(part(curve, 0.8)))
        level, first = float(np.median(held_out)), start(curve)
        gap = level - trained
        if not (
            gap > self.bound("share") * abs(level - first) and gap > self.bound("spreads") * spread
        ):
            return None
        return self.found(
            f"Evaluations give {level:.4g} and training {trained:.4g}, with a deviation of "
            f"{spread:.3g}.",
            "val/roll/ep_rew_mean",
            evaluation=level,
            training=trained,
        )
