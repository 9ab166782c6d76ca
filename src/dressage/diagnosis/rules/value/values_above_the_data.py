"""VAL019."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import growth, like, median, part, returns, rises
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesAboveTheData(Rule):
    """Action values learned from data exceed every return.

    Why it hurts
        Values of actions that the data never shows are guesses, and the policy picks the
        highest guess.

    Evidence
        The mean action value (d3rlpy’s value_scale, CORL’s average_qf1) beside evaluated
        returns, and its growth.

    Threshold and source
        Above twice the best return, or ten times its early size and still rising, while
        evaluations do not gain (guess).

    Prescription
        A conservative method (CQL, IQL, TD3+BC), or a higher weight of its penalty.

    Known false alarms
        Normalised scores beside raw values.

    References
        d3rlpy issue 387; d3rlpy-benchmarks issue 1; Levine et al. 2020.
    """

    id = "VAL019"
    name = "values-above-the-data"
    family = "value"
    severity = "critical"
    families = ("offline",)
    thresholds = {"times": Threshold(10.0, "guess")}
    elsewhere = 0.01
    expected = {
        "offline-overestimation": 0.9,
        "cql-weight-misplaced": 0.5,
        "dataset-terminals-wrong": 0.7,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        known = like(
            run, "q_mean", "value_scale", "average_value", "average_qf1", "q1", "cql_q1", "q"
        )
        return super().can_see(run) and bool(known)

    def check(self, run: RunView) -> Finding | None:
        values = like(
            run, "q_mean", "value_scale", "average_value", "average_qf1", "q1", "cql_q1", "q"
        )
        earned = (
            run["val/roll/ep_rew_mean"] or like(run, "environment", "eval_return") or returns(run)
        )
        late, best = median(values, 0.8), float(np.max(part(earned), initial=-math.inf))
        grown = growth(values, (0.0, 0.3), (0.8, 1.0))
        above = math.isfinite(best) and late > 2.0 * abs(best) and late > 1.0
        if not (above or (grown > self.bound("times") and late > 0 and rises(values, 0.5))):
            return None
        return self.found(
            f"Action values are {late:.3g} late in training; the best return is {best:.4g}.",
            "train/metrics/q_mean",
            values=late,
        )
