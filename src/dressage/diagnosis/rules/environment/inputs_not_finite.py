"""ENV006."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST
from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView


class InputsNotFinite(Rule):
    """Observations or rewards are not numbers.

    Why it hurts
        One of them ruins every weight.

    Evidence
        Statistics of observations and rewards, returns and values that are NaN or infinite.

    Threshold and source
        Any [RX].

    Prescription
        Find the step that gives one; clip or repair it in the environment.

    Known false alarms
        Statistics over no steps at all.

    References
        SB3, VecCheckNan.
    """

    id = "ENV006"
    name = "inputs-not-finite"
    family = "environment"
    severity = "critical"
    either = ("train/roll/reward_mean", "train/roll/obs_mean", "train/roll/ep_rew_mean")
    elsewhere = 0.01
    expected = {
        "nan-input": 0.5,
        "grad-clip-missing": 0.03,
        "lr-too-high": 0.03,
        "q-divergence": 0.02,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        for name in (
            "train/roll/obs_mean",
            "train/roll/obs_std",
            "train/roll/reward_mean",
            "train/roll/reward_std",
            "train/roll/ep_rew_mean",
            "train/roll/return_mean",
        ):
            values = run[name].values
            bad = int((~np.isfinite(values)).sum())
            if bad and len(values) >= FEWEST:
                return self.found(
                    f"{run.own_name(name)} is no number in {bad} of {len(values)} rows.",
                    name,
                    rows=bad,
                )
        bad = int((~np.isfinite(run.episodes.returns)).sum())
        if bad:
            return self.found(f"The returns of {bad} episodes are no numbers.", rows=bad)
        return None
