"""ENV032."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, NEAREST, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ValuesNeverDiffer(Rule):
    """All states of a rollout have had the same value since the first update.

    Why it hurts
        A network gives one answer to one input: every observation is the same.

    Evidence
        The explained variance, which is exactly zero where the value is one number.

    Threshold and source
        Within 1e-5 of zero in nine of ten rows of the first fifth of the run and of the rest
        (rounding of float32).

    Prescription
        Look at what the environment returns as observation, and at wrappers around it.

    Known false alarms
        Value functions that are switched off.

    References
        RLExplorer.
    """

    id = "ENV032"
    name = "values-never-differ"
    family = "environment"
    severity = "critical"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance",)
    thresholds = {"explained_variance": Threshold(1e-5, "rounding of float32")}
    elsewhere = 0.004
    expected = {
        "obs-constant": 0.95,
        "partial-observability": 0.1,
        "output-activation": 0.1,
        "sparse-reward": 0.05,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        explained, curve = run["train/metrics/explained_variance"], part(returns(run))
        first, rest = part(explained, 0.0, 0.2), part(explained, 0.2)
        if len(first) < NEAREST or len(rest) < FEWEST:
            raise TooLittle
        if len(curve) and np.ptp(curve) < 1e-9:
            return None
        shares = [
            float((np.abs(values) < self.bound("explained_variance")).mean())
            for values in (first, rest)
        ]
        if not min(shares) > 0.9:
            return None
        return self.found(
            f"The explained variance is zero in {min(shares):.0%} of the rows, from the first on.",
            "train/metrics/explained_variance",
            share=min(shares),
        )
