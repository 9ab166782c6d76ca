"""CFG016."""

from __future__ import annotations

import math

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetUpdatesOutsideRange(Rule):
    """The target network follows at once, or hardly ever.

    Why it hurts
        A target that is the network itself is chased in circles; one that never moves
        teaches the first guess.

    Evidence
        target_update_interval against the budget, and tau.

    Threshold and source
        An interval of one step with tau 1, or above a fifth of the budget; tau above 0.2 or
        below 1e-4 where it is applied each step (guess; muPRL’s ranges).

    Prescription
        tau 0.005 each step, or 250 to 10,000 env steps between copies.

    Known false alarms
        Algorithms without a target network (CrossQ, PQN).

    References
        muPRL; Stack Overflow 56964657.
    """

    id = "CFG016"
    name = "target-updates-outside-range"
    family = "configuration"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("target_update_interval", "tau")
    thresholds = {
        "share": Threshold(0.2, "guess"),
        "tau_high": Threshold(0.2, "guess"),
        "tau_low": Threshold(0.0001, "guess"),
    }
    elsewhere = 0.01
    expected = {
        "target-updates-too-often": 0.9,
        "target-updates-too-rarely": 0.9,
        "target-tau-extreme": 0.9,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        every, tau = number(run, "target_update_interval"), number(run, "tau")
        budget = run.budget or run.env_steps or math.inf
        copies = not tau < 1.0
        if run.family == "actor-critic":
            odd = tau > self.bound("tau_high") or tau < self.bound("tau_low")
        else:
            odd = copies and (every <= 1 or every > self.bound("share") * budget)
            odd = odd or (not copies and every <= 10 and tau < self.bound("tau_low"))
        if not odd:
            return None
        return self.found(
            f"The target moves every {every:g} env steps with tau {tau:g}, in a budget of "
            f"{budget:,.0f}.",
            interval=every,
            tau=tau,
        )
