"""OPT021."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, bodies, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsLeap(Rule):
    """The weights change at one point by more than in all of the run around it.

    Why it hurts
        Weights that were learned have been replaced, or one update was far too large.

    Evidence
        The norm of the weights from row to row, after the first tenth.

    Threshold and source
        A leap by over 10 % that is 20 times the usual change (guess).

    Prescription
        Look at what happened there: a load, a resume, an optimizer with damaged moments.

    Known false alarms
        Resets of networks that are meant.

    References
        The causes loaded-model-ignored and optimizer-state-corrupted.
    """

    id = "OPT021"
    name = "weights-leap"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/weight_norm/*",)
    thresholds = {"leap": Threshold(0.1, "guess"), "times": Threshold(20.0, "guess")}
    elsewhere = 0.03
    expected = {
        "loaded-model-ignored": 0.85,
        "optimizer-state-corrupted": 0.7,
        "resume-lost-state": 0.15,
        "lr-too-high": 0.1,
        "nan-input": 0.05,
        "grad-clip-missing": 0.2,
        "q-divergence": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        for net, series in bodies(run, "train/metrics/weight_norm/*").items():
            values = part(series, 0.1)
            if len(values) < 4 * FEWEST or not (values > 0).all():
                continue
            changes = np.abs(np.diff(np.log(values)))
            at = int(changes.argmax())
            usual = float(np.median(changes))
            if changes[at] > self.bound("leap") and changes[at] > self.bound("times") * usual:
                return self.found(
                    f"The weights of {net} leap from {values[at]:.3g} to "
                    f"{values[at + 1]:.3g} in norm.",
                    f"train/metrics/weight_norm/{net}",
                    before=float(values[at]),
                    after=float(values[at + 1]),
                )
        return None
