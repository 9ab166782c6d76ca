"""VAL013."""

from __future__ import annotations

from dressage.diagnosis.look import done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesUnderestimate(Rule):
    """Action values are far nearer to zero than the returns that follow.

    Why it hurts
        Good actions look no better than bad ones.

    Evidence
        The predicted action value beside the discounted return that followed, late in the run.
        Values start near zero, whatever the sign of the returns.

    Threshold and source
        Below 0.6 of the return’s size, or 0.45 in a run that has learned (our labelled runs;
        above 0.6 in healthy ones).

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
    thresholds = {
        "share": Threshold(0.6, "our labelled runs, 2026-11-16"),
        "learned": Threshold(0.45, "our labelled runs, 2026-11-16"),
    }
    expected = {
        "truncation-as-termination": 0.15,
        "discount-misapplied": 0.2,
        "td-target-wrong": 0.5,
        "lr-too-low": 0.9,
        "target-updates-too-rarely": 0.8,
        "updates-too-few": 0.6,
        "optimizer-choice": 0.9,
        "optimizer-eps": 0.8,
        "target-tau-extreme": 0.8,
        "updates-starved": 0.9,
        "learning-starts-misplaced": 0.6,
        "time-limit-hidden": 0.3,
        "gamma-too-low": 0.03,
        "output-activation": 0.7,
        "grad-clip-too-tight": 0.4,
        "weight-decay-too-strong": 0.5,
        "reward-misaligned": 0.1,
        "replay-corrupted": 0.2,
        "reward-sign-flipped": 0.05,
        "budget-too-small": 0.2,
        "buffer-too-small": 0.1,
        "policy-loss-sign": 0.5,
        "batch-too-large": 0.1,
        "value-lr-mismatch": 0.9,
        "sac-alpha-too-high": 0.6,
        "actor-saturation": 0.4,
        "action-noise-too-large": 0.2,
        "obs-stale": 0.3,
        "lr-too-high": 0.2,
        "reward-scale-too-large": 0.3,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        gap = median(run["train/metrics/q_gap"], 0.75)
        values = median(run["train/metrics/q_mean"], 0.75)
        followed = values - gap
        if not abs(values) < self.bound("learned" if done(run) else "share") * abs(followed):
            return None
        if abs(gap) < max(0.5 * median(run["train/roll/reward_std"]), 1e-6):
            return None
        return self.found(
            f"Action values are {values:.3g} and the returns that follow {followed:.3g}.",
            "train/metrics/q_gap",
            q_gap=gap,
            followed=followed,
        )
