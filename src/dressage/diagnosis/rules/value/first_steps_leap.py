"""VAL030."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import members
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class FirstStepsLeap(Rule):
    """The first updates replace the weights of the values instead of bending them.

    Why it hurts
        The first weights were chosen so that units work where they react. After a leap many
        are dead for good, and the values jump about.

    Evidence
        The first updates beside the weights, and the norm of the weights from the first row to
        the second.

    Threshold and source
        An update above 4 % of the weights, or weights that grow 2.5-fold between two rows (our
        labelled runs: at most 1 % and 1.3-fold where healthy, 7 % and 3-fold at a rate that is
        too high).

    Prescription
        Divide the learning rate by ten; 3e-4 to 1e-3 for Adam.

    Known false alarms
        Logs whose first rows are far apart, of the growth alone.

    References
        Karpathy, CS231n; the cause lr-too-high.
    """

    id = "VAL030"
    name = "first-steps-leap"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/weight_norm/*", "train/metrics/update_to_weight/*")
    thresholds = {
        "step": Threshold(0.04, "our labelled runs, 2026-11-16"),
        "growth": Threshold(2.5, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.01
    expected = {
        "lr-too-high": 0.9,
        "q-divergence": 0.6,
        "actor-saturation": 0.7,
        "target-updates-too-often": 0.2,
        "updates-too-many": 0.1,
        "optimizer-state-corrupted": 0.02,
        "weight-decay-too-strong": 0.05,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        for net, norms in members(run, "train/metrics/weight_norm/*").items():
            if net not in ("q", "critic"):
                continue
            steps = run[f"train/metrics/update_to_weight/{net}"].values[:2]
            step = float(np.max(steps[np.isfinite(steps)], initial=0.0))
            first = norms.values[:2]
            grown = float(first[1] / first[0]) if len(first) == 2 and first[0] > 0 else 1.0
            if step > self.bound("step") or grown > self.bound("growth"):
                return self.found(
                    f"The first updates of {net} reach {step:.2g} of its weights, whose norm "
                    f"grows {grown:.2g}-fold between the first rows.",
                    f"train/metrics/weight_norm/{net}",
                    step=step,
                    growth=grown,
                )
        return None
