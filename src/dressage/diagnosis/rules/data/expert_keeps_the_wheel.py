"""DAT012."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import like, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ExpertKeepsTheWheel(Rule):
    """The expert still drives in every round.

    Why it hurts
        The learner never sees the states that its own mistakes lead to.

    Evidence
        DAgger’s beta, the share of steps the expert drives.

    Threshold and source
        Above 0.5 in the last half of the rounds (guess; 0 after the first round is usual).

    Prescription
        beta 0 after the first round, or a linear ramp over a few.

    Known false alarms
        Runs that were stopped in their first rounds.

    References
        Ross et al. 2011.
    """

    id = "DAT012"
    name = "expert-keeps-the-wheel"
    family = "data"
    severity = "high"
    families = ("imitation",)
    thresholds = {"beta": Threshold(0.5, "guess")}
    elsewhere = 0.01
    expected = {
        "dagger-beta-stuck": 0.95,
        "healthy": 0.01,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and bool(like(run, "beta", "dagger/beta"))

    def check(self, run: RunView) -> Finding | None:
        beta = part(like(run, "beta", "dagger/beta"))
        if len(beta) < 3:
            return None
        late = float(np.median(beta[len(beta) // 2 :]))
        if not late > self.bound("beta"):
            return None
        return self.found(
            f"The expert drives {late:.0%} of the steps in the later rounds.", beta=late
        )
