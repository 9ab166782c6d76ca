"""DAT016."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EndsChangedBeforeLearning(Rule):
    """Ends of episodes are lost or made up before they are learned from.

    Why it hurts
        Values go on after an end that is lost, and stop at one that is made up.

    Evidence
        Of the steps that end an episode, the share whose end is learned from, as the same kind of
        end.

    Threshold and source
        Below 0.99; it is 1 where nothing changes them (by construction).

    Prescription
        Look at what prepare() and the memory do to terminated and truncated.

    Known false alarms
        An algorithm of your own that takes ends by the clock for ends of the task on purpose.

    References
        The metric train/metrics/ends_kept. Pardo et al. 2018, "Time limits in reinforcement
        learning".
    """

    id = "DAT016"
    name = "ends-changed-before-learning"
    family = "data"
    severity = "critical"
    needs = ("train/metrics/ends_kept",)
    thresholds = {"kept": Threshold(0.99, "by construction")}
    elsewhere = 0.001
    proof = True
    expected = {
        "terminal-not-stored": 0.9,
        "autoreset-leak": 0.9,
        "truncation-as-termination": 0.3,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        kept = median(run["train/metrics/ends_kept"])
        if not kept < self.bound("kept"):
            return None
        return self.found(
            f"Only {kept:.0%} of the ends of episodes are learned from as they came.",
            "train/metrics/ends_kept",
            kept=kept,
        )
