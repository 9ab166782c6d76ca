"""DAT015."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class StepsChangedBeforeLearning(Rule):
    """Steps are not learned from as they were collected.

    Why it hurts
        Observations, actions, rewards or successors that belong to other steps teach a task that
        nobody plays.

    Evidence
        The share of the collected steps that are the same after the algorithm has prepared them.

    Threshold and source
        Below 0.99; it is 1 where nothing changes them (by construction).

    Prescription
        Look at what prepare() and the memory do to steps: indices that are off by one, arrays that
        are shared, successors that are overwritten.

    Known false alarms
        An algorithm of your own that changes rewards on purpose.

    References
        The metric train/metrics/steps_kept. RLMutation (arXiv 2301.05651), its faults of replay
        memories.
    """

    id = "DAT015"
    name = "steps-changed-before-learning"
    family = "data"
    severity = "critical"
    needs = ("train/metrics/steps_kept",)
    thresholds = {"kept": Threshold(0.99, "by construction")}
    elsewhere = 0.001
    proof = True
    expected = {
        "replay-corrupted": 0.9,
        "obs-stale": 0.1,
        "reward-misaligned": 0.1,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        kept = median(run["train/metrics/steps_kept"])
        if not kept < self.bound("kept"):
            return None
        return self.found(
            f"Only {kept:.0%} of the collected steps are learned from as they came.",
            "train/metrics/steps_kept",
            kept=kept,
        )
