"""OPT043."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, bodies, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsGoBackToTheFirst(Rule):
    """In mid-run the weights leap back to the norm that they began with.

    Why it hurts
        What was learned is gone: training goes on with the first weights.

    Evidence
        The norm of the weights from row to row, and that of the first row.

    Threshold and source
        A leap by over 10 % from one row to the next, after a tenth of the run, to within 3 %
        of the first row (our labelled runs, 2026-11-16).

    Prescription
        Train the object that the load returns.

    Known false alarms
        Resets of networks that are meant.

    References
        SB3 issue 868; the cause loaded-model-ignored.
    """

    id = "OPT043"
    name = "weights-go-back-to-the-first"
    family = "optimisation"
    severity = "critical"
    needs = ("train/metrics/weight_norm/*",)
    thresholds = {
        "leap": Threshold(0.1, "our labelled runs, 2026-11-16"),
        "apart": Threshold(0.03, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.005
    expected = {
        "loaded-model-ignored": 0.9,
        "resume-lost-state": 0.05,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        for net, series in bodies(run, "train/metrics/weight_norm/*").items():
            values = part(series, 0.1)
            if len(values) < 4 * FEWEST or not (values > 0).all() or not series.values[0] > 0:
                continue
            first = float(series.values[0])
            leaps = np.abs(np.diff(np.log(values))) > self.bound("leap")
            back = np.abs(np.log(values[1:] / first)) < self.bound("apart")
            at = np.flatnonzero(leaps & back)
            if len(at):
                return self.found(
                    f"The weights of {net} leap from a norm of {values[at[0]]:.3g} to "
                    f"{values[at[0] + 1]:.3g}; they began with {first:.3g}.",
                    f"train/metrics/weight_norm/{net}",
                    before=float(values[at[0]]),
                    first=first,
                )
        return None
