"""OPT030."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import bodies, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsGrowAtOnce(Rule):
    """The weights grow several-fold in the first tenth of the run.

    Why it hurts
        The first weights were chosen so that units work where they react. Steps that
        replace them at once leave a network that is saturated, whatever it is taught later.

    Evidence
        The norm of the weights after a tenth of the run over that of the first row.

    Threshold and source
        Above 2.7 times in one network and 1.25 in every other (our labelled runs, 2026-11-16:
        at most 2.2 and 1.2 where healthy, 3.9 and 2 and more at a rate of 0.1).

    Prescription
        Divide the learning rate by ten.

    Known false alarms
        Heads on a shared network that begin at nearly nothing, which are left out. A
        value network alone may have to grow, towards large returns.

    References
        The cause lr-too-high.
    """

    id = "OPT030"
    name = "weights-grow-at-once"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/weight_norm/*",)
    thresholds = {
        "times": Threshold(2.7, "our labelled runs, 2026-11-16"),
        "others": Threshold(1.25, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "lr-too-high": 0.95,
        "schedule-restarts": 0.7,
        "too-many-epochs": 0.4,
        "clip-range-too-wide": 0.1,
        "lr-decay-too-little": 0.2,
        "grad-clip-missing": 0.3,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        grown = {
            net: float(np.median(after)) / float(series.values[0])
            for net, series in bodies(run, "train/metrics/weight_norm/*").items()
            if len(after := part(series, 0.08, 0.15)) and series.values[0] > 0
        }
        net, times = max(grown.items(), key=lambda item: item[1], default=("", 0.0))
        if not times > self.bound("times") or min(grown.values()) < self.bound("others"):
            return None
        return self.found(
            f"The weights of {net} are {times:.3g} times their first norm after a tenth of the "
            "run.",
            f"train/metrics/weight_norm/{net}",
            times=times,
        )
