"""CFG019."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import bounds
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionBoundsOutsideRange(Rule):
    """The bounds of the actions are far from one, or equal.

    Why it hurts
        A policy of deviation one explores a sliver of a wide range and nothing but the
        edges of a narrow one.

    Evidence
        The bounds of the action space.

    Threshold and source
        Above 10 or below 0.1, not rescaled, or low equal to high (guess; SB3 asks for [-1,
        1]).

    Prescription
        Rescale actions to [-1, 1].

    Known false alarms
        Discrete actions inside a box.

    References
        SB3’s tips on custom environments; stable-baselines issue 637.
    """

    id = "CFG019"
    name = "action-bounds-outside-range"
    family = "configuration"
    severity = "high"
    thresholds = {"wide": Threshold(10.0, "guess"), "narrow": Threshold(0.1, "guess")}
    elsewhere = 0.01
    expected = {
        "action-range-unnormalised": 0.9,
        "action-space-degenerate": 0.95,
        "action-saturation": 0.5,
        "healthy": 0.002,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and bounds(run) is not None

    def check(self, run: RunView) -> Finding | None:
        limits = bounds(run)
        if limits is None:
            return None
        low, high = limits
        if bool((low == high).any()):
            return self.found(
                f"{int((low == high).sum())} of {len(low)} actions have no room: low equals high.",
                low=float(low.min()),
            )
        action = run.spec.get("action")
        scaled = isinstance(action, dict) and action.get("scale") is True
        wide = float(np.max(np.abs(np.concatenate((low, high)))))
        if scaled or not (wide > self.bound("wide") or wide < self.bound("narrow")):
            return None
        return self.found(f"Actions reach {wide:g}; 1 is what policies are made for.", bound=wide)
