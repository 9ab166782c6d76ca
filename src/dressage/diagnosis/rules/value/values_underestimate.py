"""VAL013."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesUnderestimate(Rule):
    """Action values are far below the returns that follow.

    Why it hurts
        Good actions look no better than bad ones.

    Evidence
        The discounted return that followed less the predicted action value, beside its
        size, late in the run.

    Threshold and source
        A gap above 0.4 of the return’s size (guess).

    Prescription
        Bootstrap over time limits; check the discount in the target; more updates, or
        targets that follow sooner.

    Known false alarms
        Values that are still being learned when the run ends.

    References
        Pardo et al. 2018, “Time limits in reinforcement learning”.
    """

    id = "VAL013"
    name = "values-underestimate"
    family = "value"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/q_gap", "train/metrics/q_mean")
    thresholds = {"share": Threshold(0.4, "guess")}
    expected = {
        "truncation-as-termination": 0.6,
        "discount-misapplied": 0.6,
        "td-target-wrong": 0.5,
        "lr-too-low": 0.7,
        "target-updates-too-rarely": 0.7,
        "updates-too-few": 0.5,
        "optimizer-choice": 0.7,
        "optimizer-eps": 0.5,
        "target-tau-extreme": 0.4,
        "updates-starved": 0.5,
        "learning-starts-misplaced": 0.4,
        "time-limit-hidden": 0.3,
        "gamma-too-low": 0.1,
        "output-activation": 0.3,
        "grad-clip-too-tight": 0.4,
        "weight-decay-too-strong": 0.4,
        "reward-misaligned": 0.1,
        "replay-corrupted": 0.2,
        "reward-sign-flipped": 0.05,
        "budget-too-small": 0.2,
        "buffer-too-small": 0.1,
        "policy-loss-sign": 0.1,
        "batch-too-large": 0.1,
        "healthy": 0.04,
    }

    def check(self, run: RunView) -> Finding | None:
        gap, values = (
            median(run["train/metrics/q_gap"], 0.6),
            median(run["train/metrics/q_mean"], 0.6),
        )
        followed = values - gap
        if not -gap > max(self.bound("share") * abs(followed), 1e-6):
            return None
        return self.found(
            f"Action values are {values:.3g} and the returns that follow {followed:.3g}.",
            "train/metrics/q_gap",
            q_gap=gap,
            followed=followed,
        )
