"""PRO004."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, early_spread, median, part, returns, worst_at_first
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ReturnFellBelowItsStart(Rule):
    """The return is worse than that of the untrained policy.

    Why it hurts
        Training makes it worse: something points the wrong way, or destroys what it
        touches.

    Evidence
        The late return against that of the first rows, beside the spread of single
        episodes.

    Threshold and source
        More than one spread below, or a third of it and below nine of ten first episodes: where
        the worst is near, there is no room for more (guess).

    Prescription
        Look at the sign of losses and targets; then at the size of updates.

    Known false alarms
        Tasks in which acting at random is good; curricula that become harder.

    References
        RLMutation, incorrect loss function.
    """

    id = "PRO004"
    name = "return-fell-below-its-start"
    family = "progress"
    severity = "critical"
    thresholds = {"spreads": Threshold(1.0, "guess")}
    expected = {
        "policy-loss-sign": 0.8,
        "td-target-wrong": 0.5,
        "lr-too-high": 0.4,
        "no-exploration": 0.3,
        "q-divergence": 0.4,
        "actor-saturation": 0.4,
        "reward-sign-flipped": 0.1,
        "entropy-collapse": 0.3,
        "replay-corrupted": 0.4,
        "sac-alpha-explodes": 0.3,
        "bad-initialisation": 0.1,
        "obs-unnormalised": 0.2,
        "advantage-normalisation": 0.25,
        "discount-misapplied": 0.25,
        "target-tau-extreme": 0.2,
        "updates-too-many": 0.2,
        "terminal-not-stored": 0.2,
        "catastrophic-forgetting": 0.15,
        "reward-scale-too-large": 0.15,
        "shape-broadcast": 0.3,
        "batch-reused": 0.15,
        "gamma-too-high": 0.15,
        "obs-stale": 0.15,
        "too-many-epochs": 0.15,
        "grad-clip-missing": 0.2,
        "optimizer-state-corrupted": 0.2,
        "returns-misaligned": 0.25,
        "action-std-explosion": 0.2,
        "sac-alpha-too-low": 0.15,
        "no-action-noise": 0.2,
        "td3-smoothing-off": 0.1,
        "target-updates-too-often": 0.2,
        "resume-lost-state": 0.1,
        "healthy": 0.01,
        "lr-too-low": 0.2,
        "updates-too-few": 0.2,
        "optimizer-choice": 0.15,
    }

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        values = part(curve)
        if len(values) < 4 * FEWEST:
            raise TooLittle
        first, late = float(np.median(values[: max(3, len(values) // 20)])), median(curve, 0.7)
        spread = max(early_spread(run), 0.05 * abs(first))
        at_bottom = late <= worst_at_first(run) and late < first - 0.3 * spread
        if not at_bottom and not late < first - self.bound("spreads") * spread:
            return None
        return self.found(
            f"The return began at {first:.4g} and is {late:.4g} late in the run.",
            "train/roll/ep_rew_mean",
            return_start=first,
            return_late=late,
        )
