"""CFG029."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import bounds
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionBoundsUnlikeOne(Rule):
    """Actions have a range far from that of policies.

    Why it hurts
        A Gaussian with a deviation of one hardly explores a wide range, and is always
        clipped in a narrow one.

    Evidence
        The bounds of continuous actions, and whether they are rescaled.

    Threshold and source
        Above 10 or below 0.1, not rescaled (guess; SB3 asks for [-1, 1]).

    Prescription
        Rescale actions to [-1, 1].

    Known false alarms
        Discrete actions inside a box.

    References
        SB3’s tips on custom environments; stable-baselines issue 637.
    """

    id = "CFG029"
    name = "action-bounds-unlike-one"
    family = "configuration"
    severity = "high"
    thresholds = {"wide": Threshold(10.0, "guess"), "narrow": Threshold(0.1, "guess")}
    elsewhere = 0.0005
    expected = {
        "action-range-unnormalised": 0.9,
        "action-saturation": 0.5,
        "healthy": 0.002,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and bounds(run) is not None

    def check(self, run: RunView) -> Finding | None:
        limits, action = bounds(run), run.spec.get("action")
        scaled = isinstance(action, dict) and action.get("scale") is True
        if limits is None or scaled or bool((limits[0] == limits[1]).any()):
            return None
        reach = float(np.max(np.abs(np.concatenate(limits))))
        if not (reach > self.bound("wide") or reach < self.bound("narrow")):
            return None
        return self.found(f"Actions reach {reach:g}; 1 is what policies are made for.", bound=reach)
