"""ENV042."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class HistoryTellsMore(Rule):
    """The observation before tells what this one does not.

    Why it hurts
        A policy that sees one observation cannot act on what only two of them show.

    Evidence
        The share of the change of an observation that the one before explains, beside state and
        action; and that the action explains little of it, since it acts on what is not seen.

    Threshold and source
        Above 0.4, the action below 0.2 (our labelled runs, 2026-11-18: 0.6 to 0.95 and at most 0.1
        without velocities where these decide; no healthy run has both).

    Prescription
        Add what is missing, such as velocities, to the observation; stack frames; or a recurrent
        policy.

    Known false alarms
        Dynamics that are far from squares and products of what is observed.

    References
        Hausknecht and Stone 2015, “Deep recurrent Q-learning for partially observable MDPs”.
    """

    id = "ENV042"
    name = "history-tells-more"
    family = "environment"
    severity = "medium"
    needs = ("train/roll/history_gain", "train/roll/action_effect")
    thresholds = {
        "gain": Threshold(0.4, "our labelled runs, 2026-11-18"),
        "effect": Threshold(0.2, "our labelled runs, 2026-11-18"),
    }
    elsewhere = 0.002
    expected = {
        "partial-observability": 0.6,
        "obs-stale": 0.02,
        "action-delay": 0.02,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        gain = median(run["train/roll/history_gain"])
        effect = median(run["train/roll/action_effect"])
        if not (gain > self.bound("gain") and effect < self.bound("effect")):
            return None
        return self.found(
            f"The observation before explains {gain:.0%} of the change beside state and action, "
            f"the action {effect:.0%}.",
            "train/roll/history_gain",
            gain=gain,
            effect=effect,
        )
