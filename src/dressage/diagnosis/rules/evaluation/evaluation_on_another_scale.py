"""EVA003."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, early_spread, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EvaluationOnAnotherScale(Rule):
    """Training and evaluation move together on different scales.

    Why it hurts
        One of the two is not the reward of the task, and a threshold means nothing to it.

    Evidence
        The ratio of the ranges of both curves, of their levels and of the spreads of their
        episodes, and the correlation of the curves over time.

    Threshold and source
        All apart by a factor above 5 with a correlation above 0.6, where training rose by over a
        deviation of single episodes (guess).

    Prescription
        Log the return before normalisation: Monitor inside VecNormalize.

    Known false alarms
        Shaped rewards in training alone, which are meant.

    References
        SB3’s documentation of VecNormalize.
    """

    id = "EVA003"
    name = "evaluation-on-another-scale"
    family = "evaluation"
    severity = "medium"
    needs = ("train/roll/ep_rew_mean", "val/roll/ep_rew_mean")
    thresholds = {"times": Threshold(5.0, "guess")}
    elsewhere = 0.01
    expected = {
        "logged-reward-normalised": 0.8,
        "eval-env-mismatch": 0.4,
        "reward-scale-too-large": 0.2,
        "reward-scale-too-small": 0.2,
        "final-epsilon-too-high": 0.15,
        "action-noise-too-large": 0.15,
        "reward-hacking": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        curve, held_out = run["train/roll/ep_rew_mean"], run["val/roll/ep_rew_mean"]
        values = part(held_out)
        if len(values) < FEWEST or len(part(curve)) < FEWEST:
            raise TooLittle
        at_same = np.interp(held_out.env_steps, curve.env_steps, curve.values)[
            np.isfinite(held_out.values)
        ]
        wide, narrow = float(np.ptp(values)), float(np.ptp(at_same))
        if not (wide > 0 and narrow > 0):
            return None
        together = float(np.corrcoef(values, at_same)[0, 1])
        times = wide / narrow
        levels = sorted(max(abs(float(np.median(x))), 1e-9) for x in (values, at_same))
        far = min(max(times, 1 / times), levels[1] / levels[0]) > self.bound("times")
        if not (far and together > 0.6 and narrow > early_spread(run)):
            return None
        usual = max(median(run["train/roll/ep_rew_std"]), 1e-9)
        apart = median(run["val/roll/ep_rew_std"]) / usual
        if 1 / self.bound("times") < apart < self.bound("times"):
            return None  # a policy that acts without noise earns more; its episodes vary as much
        return self.found(
            f"Evaluations range over {wide:.3g} and training returns over {narrow:.3g}, with a "
            f"correlation of {together:.2f}.",
            "val/roll/ep_rew_mean",
            times=times,
        )
