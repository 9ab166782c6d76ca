"""ENV041."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionsActLate(Rule):
    """What is observed next depends on an earlier action.

    Why it hurts
        Credit goes to an action that had no part in it.

    Evidence
        The share of the change of an observation that actions 1 to 16 steps ago explain,
        beside the state and the newest action.

    Threshold and source
        Above 0.5 (our labelled runs, 2026-11-17: at most 0.27 where healthy, 0.68 to 1 with actions
        or observations that are late).

    Prescription
        Apply the action of this step, and return the observation that follows it; where the delay
        cannot be helped, put the last actions into the observation.

    Known false alarms
        Observations without velocities, in which the last action shows later.

    References
        Katsikopoulos and Engelbrecht 2003, “Markov decision processes with delays and asynchronous
        cost collection”.
    """

    id = "ENV041"
    name = "actions-act-late"
    family = "environment"
    severity = "high"
    needs = ("train/roll/action_effect_late",)
    thresholds = {"late": Threshold(0.5, "our labelled runs, 2026-11-17")}
    elsewhere = 0.01
    expected = {
        "action-delay": 0.9,
        "obs-stale": 0.9,
        "partial-observability": 0.3,
        "replay-corrupted": 0.1,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        late = median(run["train/roll/action_effect_late"])
        if not late > self.bound("late"):
            return None
        return self.found(
            f"An earlier action explains {late:.0%} of what state and action leave open of the "
            "next observation.",
            "train/roll/action_effect_late",
            late=late,
        )
