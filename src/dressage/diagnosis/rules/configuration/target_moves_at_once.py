"""CFG024."""

from __future__ import annotations

from dressage.diagnosis.look import number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetMovesAtOnce(Rule):
    """The target network is nearly the network itself.

    Why it hurts
        Values chase themselves: an error raises its own target.

    Evidence
        target_update_interval and tau.

    Threshold and source
        Whole copies at every step, or tau above 0.2 (guess; muPRL’s ranges).

    Prescription
        tau 0.005 each step, or 250 to 10,000 env steps between copies.

    Known false alarms
        Algorithms without a target network (CrossQ, PQN).

    References
        muPRL.
    """

    id = "CFG024"
    name = "target-moves-at-once"
    family = "configuration"
    severity = "high"
    families = ("value-based", "actor-critic")
    either = ("target_update_interval", "tau")
    thresholds = {"tau": Threshold(0.2, "guess")}
    elsewhere = 0.0005
    expected = {
        "target-updates-too-often": 0.9,
        "target-tau-extreme": 0.5,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        every, tau = number(run, "target_update_interval"), number(run, "tau")
        if run.family == "actor-critic":
            at_once = tau > self.bound("tau")
        else:
            at_once = not tau < 1.0 and every <= 1
        if not at_once:
            return None
        return self.found(
            f"The target moves every {every:g} env steps with tau {tau:g}.", interval=every, tau=tau
        )
