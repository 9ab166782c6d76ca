"""PRO007."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnDropsAtRestart(Rule):
    """The return drops where the run was taken up again.

    Why it hurts
        Part of what had been learned or gathered was not saved.

    Evidence
        The return before and after each place at which the clock began anew or a resume was
        logged.

    Threshold and source
        A drop by over a quarter of the rise so far (guess).

    Prescription
        Save the optimizer, the memory, the normalisers and the schedules along with the
        weights.

    Known false alarms
        A window of episodes that begins anew, and is small at first.

    References
        SB3’s documentation on saving; stable-baselines issues 30 and 868.
    """

    id = "PRO007"
    name = "return-drops-at-restart"
    family = "progress"
    severity = "high"
    thresholds = {"share": Threshold(0.25, "guess")}
    elsewhere = 0.01
    expected = {
        "resume-lost-state": 0.9,
        "optimizer-state-corrupted": 0.7,
        "loaded-model-ignored": 0.8,
        "schedule-restarts": 0.4,
        "normaliser-mismatch": 0.05,
        "healthy": 0.003,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and bool(run.restarts or run.events)

    def check(self, run: RunView) -> Finding | None:
        curve = returns(run)
        marks = list(run.restarts) + [
            float(event["env_steps"])
            for event in run.events
            if event.get("kind") == "resume" and "env_steps" in event
        ]
        first = start(curve)
        for mark in marks:
            before = curve.values[curve.env_steps <= mark][-10:]
            after = curve.values[curve.env_steps > mark][:10]
            if len(before) < 3 or len(after) < 3:
                continue
            level, drop = float(np.median(before)), float(np.median(before) - np.median(after))
            if drop > self.bound("share") * max(level - first, 0.2 * abs(level)) and level > first:
                return self.found(
                    f"The return falls from {level:.4g} to {level - drop:.4g} at "
                    f"{mark:,.0f} env steps, "
                    "where the run was taken up again.",
                    "train/roll/ep_rew_mean",
                    drop=drop,
                    env_steps=mark,
                )
        return None
