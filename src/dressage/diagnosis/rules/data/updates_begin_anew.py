"""DAT032."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class UpdatesBeginAnew(Rule):
    """The count of updates goes back while env steps go on.

    Why it hurts
        What counts them was made anew, and its weights with it: what was learned is thrown away.

    Evidence
        The count of updates, row by row.

    Threshold and source
        A fall by more than half of what was counted (arithmetic).

    Prescription
        Keep what load() returns: model = PPO.load(path, env=env).

    Known false alarms
        Logs of two runs in one file.

    References
        Stable-Baselines3 issue 868; Stable Baselines issue 30.
    """

    id = "DAT032"
    name = "updates-begin-anew"
    family = "data"
    severity = "critical"
    arithmetic = True
    needs = ("updates",)
    thresholds = {"share": Threshold(0.5, "arithmetic")}
    elsewhere = 0.002
    expected = {
        "loaded-model-ignored": 0.9,
        "resume-lost-state": 0.3,
        "optimizer-state-corrupted": 0.02,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        counted = part(run["updates"])
        if len(counted) < FEWEST:
            raise TooLittle
        falls = np.flatnonzero(counted[1:] < (1.0 - self.bound("share")) * counted[:-1])
        if not len(falls):
            return None
        before, after = counted[falls[0]], counted[falls[0] + 1]
        return self.found(
            f"After {before:.0f} updates the log counts {after:.0f}, and so {len(falls)} times in "
            "all.",
            "updates",
            times=len(falls),
        )
