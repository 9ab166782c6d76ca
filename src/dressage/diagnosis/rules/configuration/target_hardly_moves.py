"""CFG016."""

from __future__ import annotations

import math

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetHardlyMoves(Rule):
    """The target network hardly follows.

    Why it hurts
        Values are learned from those of long ago, so that what is found out does not
        spread.

    Evidence
        target_update_interval and tau, beside the budget.

    Threshold and source
        Copies less often than every fifth of the budget, or tau below 1e-4 where it is
        applied each step (guess; muPRL’s ranges).

    Prescription
        tau 0.005 each step, or 250 to 10,000 env steps between copies.

    Known false alarms
        Algorithms without a target network (CrossQ, PQN).

    References
        muPRL; Stack Overflow 56964657.
    """

    id = "CFG016"
    name = "target-hardly-moves"
    family = "configuration"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("target_update_interval", "tau")
    thresholds = {"share": Threshold(0.2, "guess"), "tau": Threshold(0.0001, "guess")}
    elsewhere = 0.0005
    expected = {
        "target-updates-too-rarely": 0.9,
        "target-tau-extreme": 0.6,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        every, tau = number(run, "target_update_interval"), number(run, "tau")
        budget = run.budget or run.env_steps or math.inf
        copies = run.family != "actor-critic" and not tau < 1.0
        each_step = run.family == "actor-critic" or every <= 10
        rare = copies and every > self.bound("share") * budget
        if not (rare or (each_step and tau < self.bound("tau"))):
            return None
        return self.found(
            f"The target moves every {every:g} env steps with tau {tau:g}, in a budget of "
            f"{budget:,.0f}.",
            interval=every,
            tau=tau,
        )
