"""OPT012."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ScheduleBeginsAnew(Rule):
    """A schedule that had fallen leaps back up.

    Why it hurts
        Each restart throws the run back: a high rate or much randomness meets a policy that
        was nearly right.

    Evidence
        Learning rate, clip range and share of random actions in force.

    Threshold and source
        A rise by over a third of the range from one row to the next, after a fall (guess).

    Prescription
        One call for the whole budget; SB3: reset_num_timesteps=False and a schedule of
        one's own.

    Known false alarms
        Warm restarts that are meant (cosine schedules).

    References
        SB3 documentation of learn(); the cause schedule-restarts.
    """

    id = "OPT012"
    name = "schedule-begins-anew"
    family = "optimisation"
    severity = "high"
    either = ("train/hp/lr", "train/hp/epsilon", "train/hp/clip_range")
    thresholds = {"share": Threshold(0.33, "guess")}
    arithmetic = True  # it reads a setting as it is in force
    elsewhere = 0.0002
    expected = {
        "schedule-restarts": 0.95,
        "resume-lost-state": 0.6,
        "loaded-model-ignored": 0.4,
        "optimizer-state-corrupted": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        for name in ("train/hp/lr", "train/hp/epsilon", "train/hp/clip_range"):
            values = part(run[name])
            height = float(np.ptp(values)) if len(values) >= 2 * FEWEST else 0.0
            if not height > 0.1 * float(np.abs(values).max(initial=0.0)):
                continue
            leaps = np.flatnonzero(np.diff(values) > self.bound("share") * height) + 1
            fell = [i for i in leaps if values[:i].max() - values[i - 1] > 0.3 * height]
            if fell:
                return self.found(
                    f"{run.own_name(name)} leaps from {values[fell[0] - 1]:.3g} to "
                    f"{values[fell[0]]:.3g} at {fell[0] / len(values):.0%} of the run, {len(fell)} "
                    "times in all.",
                    name,
                    times=len(fell),
                )
        return None
