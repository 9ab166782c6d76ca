"""DAT003."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, median, number
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView

LATE = 0.15  # of the run: updates that begin there may just have been allowed to


class FewUpdatesForTheData(Rule):
    """There are very few updates for the data.

    Why it hurts
        Steps in the environment are bought and hardly used.

    Evidence
        Gradient steps for each env step.

    Threshold and source
        Below 0.05 for actor-critics, 0.04 for action values (guess; 0.25 to 1 is usual, 1
        in SB3’s documentation).

    Prescription
        gradient_steps -1, or train_freq 1; as many updates as environments.

    Known false alarms
        Very large batches; environments that are far cheaper than updates.

    References
        SB3’s documentation of off-policy algorithms with several environments.
    """

    id = "DAT003"
    name = "few-updates-for-the-data"
    family = "data"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("train/metrics/update_to_data", "updates", "gradient_steps")
    thresholds = {"actor-critic": Threshold(0.05, "guess"), "values": Threshold(0.04, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "updates-too-few": 0.9,
        "updates-starved": 0.9,
        "hardware-underused": 0.05,
        "budget-too-small": 0.02,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        ratio = median(run["train/metrics/update_to_data"], 0.2)
        done = run["updates"]
        if math.isnan(ratio) and len(done.values) >= FEWEST and np.ptp(done.env_steps) > 0:
            ratio = float(np.ptp(done.values) / np.ptp(done.env_steps))
        elif math.isnan(ratio) and len(done.values):  # so few that hardly a row has any
            ratio = float(done.values[-1] / max(done.env_steps[-1] - self._began(run), 1.0))
        if math.isnan(ratio):
            freq, steps = number(run, "train_freq"), number(run, "gradient_steps")
            ratio = steps / freq / max(number(run, "n_envs"), 1.0) if steps > 0 else math.nan
        least = self.bound("actor-critic" if run.family == "actor-critic" else "values")
        if not 0.0 < ratio < least:
            return None
        return self.found(
            f"There are {ratio:.2g} updates for each env step; 0.25 to 1 is usual.",
            "train/metrics/update_to_data",
            update_to_data=ratio,
        )

    def _began(self, run: RunView) -> float:
        """From when on there were to be updates."""
        began = number(run, "learning_starts")
        first = float(run["updates"].env_steps[0])
        if math.isnan(began) and first > LATE * max(run.budget or 0.0, run.env_steps):
            raise TooLittle
        return 0.0 if math.isnan(began) else min(began, first)
