"""EVA033."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import NEAREST, beginning, early_spread, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EvaluationsAreAlike(Rule):
    """Late evaluations hardly differ, and nothing was learned.

    Why it hurts
        The policy does the same whatever it sees, or what it does changes nothing.

    Evidence
        The deviation of the last evaluations beside that of single episodes at the start.

    Threshold and source
        Below 0.15 of it, with less than half of it gained (our labelled runs, 2026-11-17: no
        healthy run).

    Prescription
        Look at what the policy does: play a few episodes.

    Known false alarms
        Tasks that pay the same in every episode.

    References
        RLExplorer looks for returns that do not vary.
    """

    id = "EVA033"
    name = "evaluations-are-alike"
    family = "evaluation"
    severity = "medium"
    stands_in = True
    needs = ("val/roll/ep_rew_mean",)
    thresholds = {
        "spread": Threshold(0.15, "our labelled runs, 2026-11-17"),
        "gain": Threshold(0.5, "our labelled runs, 2026-11-17"),
    }
    elsewhere = 0.13
    expected = {
        "policy-loss-sign": 0.61,
        "q-divergence": 0.47,
        "actor-saturation": 0.31,
        "optimizer-eps": 0.41,
        "reward-scale-too-large": 0.41,
        "eval-env-mismatch": 0.4,
        "weight-decay-too-strong": 0.38,
        "reward-sign-flipped": 0.38,
        "obs-constant": 0.38,
        "clip-range-too-wide": 0.34,
        "shape-broadcast": 0.34,
        "learning-never-starts": 0.34,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        late, usual = part(run["val/roll/ep_rew_mean"], 0.5), early_spread(run)
        if len(late) < NEAREST:
            raise TooLittle
        if not usual > 0.0:
            return None
        deviation, gain = float(np.std(late)), float(np.median(late)) - beginning(run)
        if not (deviation < self.bound("spread") * usual and gain < self.bound("gain") * usual):
            return None
        return self.found(
            f"Late evaluations differ by {deviation:.2g}; at the start single episodes differed by "
            f"{usual:.3g}.",
            "val/roll/ep_rew_mean",
            deviation=deviation,
            at_first=usual,
        )
