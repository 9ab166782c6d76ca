"""DAT004."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ManyUpdatesForTheData(Rule):
    """There are many updates for each step of data.

    Why it hurts
        Values are fitted to a few transitions until they no longer generalise, and units
        die.

    Evidence
        Gradient steps for each env step.

    Threshold and source
        Above 4 (guess; above 1 needs layer norm, resets or ensembles: Nikishin et al.
        2022).

    Prescription
        At most one update for each step, or layer_norm and ensembles.

    Known false alarms
        Algorithms made for it (REDQ, DroQ, CrossQ), which are left out.

    References
        Nikishin et al. 2022, “The primacy bias”.
    """

    id = "DAT004"
    name = "many-updates-for-the-data"
    family = "data"
    severity = "medium"
    families = ("value-based", "actor-critic")
    either = ("train/metrics/update_to_data", "updates")
    thresholds = {"ratio": Threshold(4.0, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "updates-too-many": 0.95,
        "batch-reused": 0.3,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        if run.algo in ("redq", "droq", "crossq"):
            return None
        ratio = median(run["train/metrics/update_to_data"], 0.2)
        done = run["updates"]
        if math.isnan(ratio) and len(done.values) >= FEWEST and np.ptp(done.env_steps) > 0:
            ratio = float(np.ptp(done.values) / np.ptp(done.env_steps))
        if not ratio > self.bound("ratio"):
            return None
        return self.found(
            f"There are {ratio:.3g} updates for each env step; 0.25 to 1 is usual.",
            "train/metrics/update_to_data",
            update_to_data=ratio,
        )
