"""VAL044."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesFadeAtOnce(Rule):
    """Only the last step before a reward is worth anything.

    Why it hurts
        From everywhere else all actions look alike: nothing tells which way the reward lies.

    Evidence
        The mean action value beside the largest, of values that agree with their targets and
        with the returns that follow.

    Threshold and source
        Below 0.12 of the largest (our labelled runs: 0.01 to 0.08 with a discount of 0.5 and
        less, 0.47 and more where healthy).

    Prescription
        gamma 0.95 to 0.999; look at whether the target counts the discount twice.

    Known false alarms
        Tasks whose returns are of either sign and even out.

    References
        The causes gamma-too-low and discount-misapplied.
    """

    id = "VAL044"
    name = "values-fade-at-once"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = (
        "train/metrics/q_max",
        "train/metrics/q_mean",
        "train/metrics/q_gap",
        "train/metrics/td_error_mean",
    )
    thresholds = {"share": Threshold(0.12, "our labelled runs, 2026-11-16")}
    elsewhere = 0.01
    expected = {
        "gamma-too-low": 0.6,
        "discount-misapplied": 0.6,
        "env-not-reset": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        mean, highest, error, gap = (
            median(run[f"train/metrics/{name}"], 0.7)
            for name in ("q_mean", "q_max", "td_error_mean", "q_gap")
        )
        fits = error < 0.05 * highest and abs(gap) < 0.15 * highest
        if not fits or not abs(mean) < self.bound("share") * highest:
            return None
        return self.found(
            f"The mean action value is {mean:.2g} and the largest {highest:.2g}; they are right "
            f"to {error:.1g}.",
            "train/metrics/q_max",
            mean=mean,
            largest=highest,
        )
