"""ENV040."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.diagnosis.rules.environment.actions_do_nothing import ActionsDoNothing
from dressage.runs.view import RunView


class ActionsHardlyAct(Rule):
    """What is observed next hardly depends on the action.

    Why it hurts
        A policy can only learn what its actions bring about.

    Evidence
        The share that the action explains of what the state leaves open of the next observation,
        and that of the actions before it.

    Threshold and source
        Below 0.35, with earlier actions explaining less than 0.5 (our labelled runs, 2026-11-17:
        0.4 to 1 where healthy, at most 0.33 with actions that are ignored). Where it is next to
        nothing, ENV044 says so instead.

    Prescription
        Step the environment by hand: the same state, two actions, two successors.

    Known false alarms
        Tasks that go on by themselves, whatever is done.

    References
        Least squares over neighbouring steps: see the metric train/roll/action_effect.
    """

    id = "ENV040"
    name = "actions-hardly-act"
    family = "environment"
    severity = "high"
    needs = ("train/roll/action_effect",)
    thresholds = {
        "effect": Threshold(0.35, "our labelled runs, 2026-11-17"),
        "late": Threshold(0.5, "our labelled runs, 2026-11-17"),
    }
    elsewhere = 0.03
    expected = {
        "action-ignored": 0.9,
        "partial-observability": 0.4,
        "replay-corrupted": 0.1,
        "action-space-degenerate": 0.3,
        "obs-constant": 0.2,
        "healthy": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        effect = median(run["train/roll/action_effect"])
        late = median(run["train/roll/action_effect_late"])
        if not effect < self.bound("effect") or late > self.bound("late"):
            return None
        if ActionsDoNothing().look(run)[1] is not None:
            return None
        return self.found(
            f"Actions explain {effect:.0%} of what the state leaves open of the next observation.",
            "train/roll/action_effect",
            effect=effect,
        )
