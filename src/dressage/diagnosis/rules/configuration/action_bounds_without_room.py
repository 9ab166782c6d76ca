"""CFG019."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import bounds
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionBoundsWithoutRoom(Rule):
    """The lowest action is the highest.

    Why it hurts
        Whatever the policy says, one action is taken.

    Evidence
        The bounds of continuous actions.

    Threshold and source
        low equal to high (arithmetic).

    Prescription
        Give the action space its range.

    Known false alarms
        None known.

    References
        SB3’s tips on custom environments.
    """

    id = "CFG019"
    name = "action-bounds-without-room"
    family = "configuration"
    severity = "high"
    thresholds = {"room": Threshold(0.0, "arithmetic")}
    elsewhere = 0.0005
    expected = {
        "action-space-degenerate": 0.95,
        "healthy": 0.001,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and bounds(run) is not None

    def check(self, run: RunView) -> Finding | None:
        low, high = bounds(run) or (np.zeros(0), np.zeros(0))
        none = int((high - low <= self.bound("room")).sum())
        if not none:
            return None
        return self.found(f"{none} of {len(low)} actions have no room: low equals high.", none=none)
