"""VAL004."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, median, part, returns, size
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ValuesWithinBounds(Rule):
    """Predicted values stay within bounds that the returns do not.

    Why it hurts
        An output that cannot be negative, or beyond one, cannot predict such returns: every
        advantage is then biased.

    Evidence
        The mean prediction and the mean target over the run.

    Threshold and source
        Targets below zero in 80 % of the run and predictions that are none of them below zero
        and mostly within a thousandth of it, or targets beyond 1.3 and predictions that stop
        between 0.9 and 1 (guess).

    Prescription
        A linear output: no activation after the last layer.

    Known false alarms
        The first rows of a run, before the values have moved.

    References
        openai/baselines issue 331.
    """

    id = "VAL004"
    name = "values-within-bounds"
    family = "value"
    severity = "critical"
    either = ("train/roll/value_mean", "train/metrics/q_mean")
    thresholds = {"share": Threshold(0.001, "guess")}
    elsewhere = 0.005
    expected = {
        "output-activation": 0.95,
        "critic-too-weak": 0.05,
        "lr-too-low": 0.03,
        "optimizer-choice": 0.03,
        "value-lr-mismatch": 0.03,
        "discount-misapplied": 0.05,
        "td-target-wrong": 0.2,
        "learning-never-starts": 0.02,
        "value-clip-too-tight": 0.1,
        "shape-broadcast": 0.03,
        "optimizer-eps": 0.03,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        predicted = run["train/roll/value_mean"] or run["train/metrics/q_mean"]
        target = run["train/roll/return_mean"] if run["train/roll/return_mean"] else returns(run)
        values, targets = part(predicted, 0.1), part(target, 0.1)
        if len(values) < FEWEST or len(targets) < FEWEST:
            raise TooLittle
        level, most = float(np.median(targets)), float(np.abs(values).max())
        usual, bound = float(np.median(np.abs(values))), self.bound("share") * abs(level)
        if not run["train/roll/return_mean"]:  # a return of a whole episode says little of values
            bound = min(bound, 0.02 * size(run["train/roll/reward_mean"]))
        negative = level < -0.5 and float((targets < 0).mean()) > 0.8
        above = negative and values.min() > -bound and usual < bound
        still = abs(median(predicted, 0.8) - median(predicted, 0.4, 0.6)) < 0.05
        squashed = abs(level) > 1.3 and 0.9 < most <= 1.001 and usual > 0.5 and still
        if not (above or squashed):
            return None
        return self.found(
            f"Predictions stay between {values.min():.2g} and {values.max():.2g} while "
            "their targets are "
            f"{level:.3g}.",
            "train/roll/value_mean",
            lowest=float(values.min()),
            target=level,
        )
