"""ENV044."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ActionsDoNothing(Rule):
    """The next observation is the same whatever is done.

    Why it hurts
        A policy can only learn what its actions bring about.

    Evidence
        The share that the action explains of what the state leaves open of the next observation;
        neither do earlier actions explain it, nor the observation before.

    Threshold and source
        Below 0.065, earlier actions and the observation before below 0.4 (our labelled runs,
        2026-11-18: at most 0.06 with actions that are ignored, 0.067 where healthy and slippery,
        from 0.27 on elsewhere). Not looked for where the policy hardly varies what it does (an
        entropy below 0.2): then the state tells the action, and nothing is left to explain.

    Prescription
        Step the environment by hand: the same state, two actions, two successors. Look for a
        wrapper that drops or replaces the action.

    Known false alarms
        Tasks in which an action shows only many steps later, or never.

    References
        Least squares over neighbouring steps: see the metric train/roll/action_effect.
    """

    id = "ENV044"
    name = "actions-do-nothing"
    family = "environment"
    severity = "critical"
    needs = ("train/roll/action_effect",)
    thresholds = {
        "effect": Threshold(0.065, "our labelled runs, 2026-11-18"),
        "others": Threshold(0.4, "our labelled runs, 2026-11-18"),
        "entropy": Threshold(0.2, "guess"),
    }
    elsewhere = 0.003
    expected = {
        "action-ignored": 0.8,
        "action-delay": 0.1,
        "obs-stale": 0.1,
        "action-space-degenerate": 0.1,
        "lr-too-high": 0.02,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        if 0.0 <= median(run["train/metrics/entropy"]) < self.bound("entropy"):
            raise TooLittle
        effect = median(run["train/roll/action_effect"])
        late = median(run["train/roll/action_effect_late"])
        before = median(run["train/roll/history_gain"])
        others = self.bound("others")
        if not effect < self.bound("effect") or late > others or before > others:
            return None
        return self.found(
            f"Actions explain {effect:.1%} of what the state leaves open of the next observation.",
            "train/roll/action_effect",
            effect=effect,
        )
