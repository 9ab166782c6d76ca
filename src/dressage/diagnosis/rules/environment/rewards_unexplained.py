"""ENV043."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsUnexplained(Rule):
    """Rewards do not depend on what was seen and done.

    Why it hurts
        Nothing can be learned from rewards that follow from nothing.

    Evidence
        The share of a step’s reward that its two observations and its action explain.

    Threshold and source
        Below 0.3 (our labelled runs, 2026-11-17: above 0.6 where every step pays, about 0 for
        noise).

    Prescription
        Look at what the reward is computed from, and whether that is in the observation.

    Known false alarms
        Rewards that are paid seldom, or that are far from squares and products of observations.

    References
        Least squares over single steps: see the metric train/roll/reward_explained.
    """

    id = "ENV043"
    name = "rewards-unexplained"
    family = "environment"
    severity = "medium"
    needs = ("train/roll/reward_explained",)
    thresholds = {"explained": Threshold(0.3, "our labelled runs, 2026-11-17")}
    elsewhere = 0.1
    expected = {
        "reward-uninformative": 0.95,
        "reward-noise": 0.8,
        "sparse-reward": 0.3,
        "obs-constant": 0.8,
        "partial-observability": 0.2,
        "healthy": 0.1,
    }

    def check(self, run: RunView) -> Finding | None:
        explained = median(run["train/roll/reward_explained"])
        if not explained < self.bound("explained"):
            return None
        return self.found(
            f"Observations and action explain {explained:.0%} of a step’s reward.",
            "train/roll/reward_explained",
            explained=explained,
        )
