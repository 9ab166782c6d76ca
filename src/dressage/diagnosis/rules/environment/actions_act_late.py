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
        beside the state and the newest action, which itself explains little.

    Threshold and source
        Above 0.5, the newest below 0.2 (our labelled runs, 2026-11-18: 0.68 to 1 and at most 0.05
        with actions or observations that are late; no healthy run has both).

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
    needs = ("train/roll/action_effect", "train/roll/action_effect_late")
    thresholds = {
        "late": Threshold(0.5, "our labelled runs, 2026-11-18"),
        "newest": Threshold(0.2, "our labelled runs, 2026-11-18"),
    }
    elsewhere = 0.002
    expected = {
        "action-delay": 0.9,
        "obs-stale": 0.9,
        "partial-observability": 0.05,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        late = median(run["train/roll/action_effect_late"])
        newest = median(run["train/roll/action_effect"])
        if not (late > self.bound("late") and newest < self.bound("newest")):
            return None
        return self.found(
            f"An earlier action explains {late:.0%} of what state and action leave open of the "
            f"next observation, the newest {newest:.0%}.",
            "train/roll/action_effect_late",
            late=late,
            newest=newest,
        )
