"""ENV050."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class FirstActionsHardlyAct(Rule):
    """Before anything is learned, the action explains little of the next observation.

    Why it hurts
        A policy can only learn what its actions bring about. Later in a run a good policy leaves
        little to explain; at its start actions vary freely, so that this look is the surest.

    Evidence
        The share that the action explains of what the state leaves open of the next observation, in
        the first rollout.

    Threshold and source
        Below 0.3 (our labelled runs, 2026-11-18: all with actions that are ignored or late, 16 of
        20 whose meaning changes from episode to episode; 4 of 275 healthy ones, slippery ice and
        Ant with its contact forces).

    Prescription
        Step the environment by hand: the same state, two actions, two successors. Look for a
        wrapper that drops, delays or renames the action.

    Known false alarms
        Tasks in which chance moves more than actions do.

    References
        Least squares over neighbouring steps: see the metric train/roll/action_effect.
    """

    id = "ENV050"
    name = "first-actions-hardly-act"
    family = "environment"
    severity = "critical"
    needs = ("train/roll/action_effect",)
    thresholds = {
        "effect": Threshold(0.3, "our labelled runs, 2026-11-18"),
        "share": Threshold(0.1, "guess"),
    }
    elsewhere = 0.005
    expected = {
        "action-ignored": 0.9,
        "action-delay": 0.9,
        "obs-stale": 0.6,
        "partial-observability": 0.3,
        "action-space-degenerate": 0.3,
        "replay-corrupted": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        series = run["train/roll/action_effect"]
        if series.env_steps[0] > self.bound("share") * run.env_steps:
            raise TooLittle
        effect = float(series.values[0])
        if not effect < self.bound("effect"):
            return None
        return self.found(
            f"In the first rollout actions explain {effect:.0%} of what the state leaves open of "
            "the next observation.",
            "train/roll/action_effect",
            effect=effect,
        )
