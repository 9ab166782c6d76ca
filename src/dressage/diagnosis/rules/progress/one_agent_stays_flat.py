"""PRO010."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median, of_agents, rises
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class OneAgentStaysFlat(Rule):
    """One agent learns nothing while the others do.

    Why it hurts
        Its experience or its gradient goes elsewhere, or its rewards are those of another.

    Evidence
        The returns of single agents (RLlib’s policy_reward_mean, returns logged by agent).

    Threshold and source
        A rise below a tenth of the best agent’s, and no trend (guess).

    Prescription
        Look at the loop over agents: names that shadow one another, keys that are swapped.

    Known false alarms
        Agents with nothing to do; games in which one wins what the other loses.

    References
        PettingZoo issue 1132.
    """

    id = "PRO010"
    name = "one-agent-stays-flat"
    family = "progress"
    severity = "high"
    families = ("multi-agent", "on-policy", "value-based", "actor-critic")
    thresholds = {"share": Threshold(0.1, "guess")}
    elsewhere = 0.01
    expected = {
        "marl-agent-not-learning": 0.9,
        "marl-reward-credit": 0.5,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(of_agents(run)) >= 2

    def check(self, run: RunView) -> Finding | None:
        rises_by = {
            name: median(s, 0.8) - median(s, 0.0, 0.2) for name, s in of_agents(run).items()
        }
        known = {name: gain for name, gain in rises_by.items() if not math.isnan(gain)}
        if len(known) < 2:
            return None
        best, worst = (
            max(known, key=known.__getitem__),
            min(known, key=lambda name: abs(known[name])),
        )
        height = known[best]
        if not (height > 0 and abs(known[worst]) < self.bound("share") * height):
            return None
        if rises(run[worst], 0.2) or not rises(run[best]):
            return None
        return self.found(
            f"{worst} gained {known[worst]:.3g} and {best} {height:.3g}.", worst, gain=known[worst]
        )
