"""ENV037."""

from __future__ import annotations

import math

from dressage.diagnosis.look import FEWEST, median, size, solved, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SurpriseStays(Rule):
    """Values are right on average, and what happens remains as surprising as at first.

    Why it hurts
        The value function knows all that it can know. What is left over is chance: in what actions
        do, in what is observed or in what is paid.

    Evidence
        The deviation of the advantages late in the run beside that of the first rollouts, their
        mean, and the size and the deviation of the targets.

    Threshold and source
        Over 0.32 of the first deviation, with a mean below 0.25 deviations (our labelled runs,
        2026-11-16: 0.36 to 2.7 with actions that are ignored, late or permuted and observations
        that are stale or incomplete; at most 0.29 where healthy and right on average).

    Prescription
        Probe the environment: does the same action in the same state do the same.

    Known false alarms
        Tasks that are games of chance.

    References
        Schulman et al. 2016, “High-dimensional continuous control using generalized advantage
        estimation”.
    """

    id = "ENV037"
    name = "surprise-stays"
    family = "environment"
    severity = "medium"
    families = ("on-policy",)
    needs = ("train/roll/adv_std", "train/roll/adv_mean", "train/roll/return_std")
    thresholds = {
        "share": Threshold(0.32, "our labelled runs, 2026-11-16"),
        "mean": Threshold(0.25, "our labelled runs, 2026-11-16"),
        "level": Threshold(0.1, "our labelled runs, 2026-11-16"),
        "unexplained": Threshold(0.3, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.08
    expected = {
        "action-ignored": 0.9,
        "action-delay": 0.7,
        "obs-stale": 0.9,
        "partial-observability": 0.7,
        "reward-uninformative": 0.9,
        "reward-noise": 0.9,
        "reward-misaligned": 0.7,
        "returns-misaligned": 0.8,
        "reward-sign-flipped": 0.8,
        "obs-constant": 0.9,
        "obs-unnormalised": 0.4,
        "entropy-bonus-too-high": 0.4,
        "healthy": 0.003,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(run["train/roll/adv_std"].values) >= 4 * FEWEST

    def check(self, run: RunView) -> Finding | None:
        advantages, targets = run["train/roll/adv_std"], run["train/roll/return_mean"]
        first, late = start(advantages), median(advantages, 0.6)
        mean, spread = (
            abs(median(run["train/roll/adv_mean"], 0.6)),
            median(run["train/roll/return_std"], 0.6),
        )
        level = size(targets, 0.6)
        level = spread if math.isnan(level) else max(level, spread)
        if not (late > self.bound("share") * first > 0 and mean < self.bound("mean") * late):
            return None
        if not (late > self.bound("level") * level and late > self.bound("unexplained") * spread):
            return None
        if solved(run):
            return None
        return self.found(
            f"Advantages deviate by {late:.3g}, {late / first:.0%} of what they did at first.",
            "train/roll/adv_std",
            share=late / first,
        )
