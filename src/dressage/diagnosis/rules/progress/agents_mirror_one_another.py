"""PRO011."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import of_agents
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class AgentsMirrorOneAnother(Rule):
    """Agents earn exactly what another earns.

    Why it hurts
        Rewards that are the same for all, or swapped, do not say who did what.

    Evidence
        The correlation of the returns of single agents over time.

    Threshold and source
        Equal to the last digit in nine of ten rows, in a task that is logged by agent
        (guess).

    Prescription
        Credit each agent with its own reward: look at the keys of the reward dictionary.

    Known false alarms
        Games in which all share one reward on purpose.

    References
        PettingZoo’s documentation of the AEC loop.
    """

    id = "PRO011"
    name = "agents-mirror-one-another"
    family = "progress"
    severity = "medium"
    families = ("multi-agent", "on-policy", "value-based", "actor-critic")
    thresholds = {"share": Threshold(0.9, "guess")}
    elsewhere = 0.01
    expected = {
        "marl-reward-credit": 0.8,
        "marl-agent-not-learning": 0.05,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(of_agents(run)) >= 2

    def check(self, run: RunView) -> Finding | None:
        series = list(of_agents(run).items())
        for i, (name, one) in enumerate(series):
            for other, two in series[i + 1 :]:
                if len(one.values) != len(two.values) or np.ptp(one.values) < 1e-12:
                    continue
                same = float((one.values == two.values).mean())
                if same > self.bound("share"):
                    return self.found(
                        f"{name} and {other} are equal in {same:.0%} of the rows.", name, share=same
                    )
        return None
