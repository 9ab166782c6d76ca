"""CFG013."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class OptimizerEpsilonOutsideRange(Rule):
    """The optimizer’s epsilon is far from what works.

    Why it hurts
        It is added to the size of the gradient: a large one swallows small gradients, a
        tiny one lets RMSprop leap.

    Evidence
        optimizer_eps.

    Threshold and source
        Above 1e-3, or below 1e-9 with RMSprop (guess; 1e-8 to 1e-5 is usual).

    Prescription
        optimizer_eps 1e-5.

    Known false alarms
        Rainbow’s 1.5e-4, which is below the bound.

    References
        SB3 issue 110.
    """

    id = "CFG013"
    name = "optimizer-epsilon-outside-range"
    family = "configuration"
    severity = "high"
    settings = ("optimizer_eps",)
    thresholds = {"eps": Threshold(0.001, "guess")}
    elsewhere = 0.0005
    expected = {
        "optimizer-eps": 0.95,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "optimizer_eps")
        leaps = "rms" in str(run.config.get("optimizer", "")).lower() and value < 1e-9
        if not (value > self.bound("eps") or leaps):
            return None
        return self.found(f"optimizer_eps is {value:g}; 1e-8 to 1e-5 is usual.", eps=value)
