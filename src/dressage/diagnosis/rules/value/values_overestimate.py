"""VAL012."""

from __future__ import annotations

from dressage.diagnosis.look import median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesOverestimate(Rule):
    """Action values are far above the returns that follow.

    Why it hurts
        The policy prefers what is overrated most.

    Evidence
        The predicted action value less the discounted return that followed, beside the size
        of the values.

    Threshold and source
        A gap above half of the values’ size in the second half (guess; near zero is
        healthy).

    Prescription
        Twin critics and their minimum, double Q-learning, slower targets, a lower rate.

    Known false alarms
        Policies that have just improved: the returns still are those of the old one.

    References
        van Hasselt et al. 2016; Fujimoto et al. 2018.
    """

    id = "VAL012"
    name = "values-overestimate"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/q_gap", "train/metrics/q_mean")
    thresholds = {"share": Threshold(0.5, "guess")}
    expected = {
        "q-divergence": 0.8,
        "terminal-not-stored": 0.85,
        "td-target-wrong": 0.4,
        "target-updates-too-often": 0.5,
        "td3-smoothing-off": 0.4,
        "discount-misapplied": 0.4,
        "lr-too-high": 0.5,
        "no-exploration": 0.4,
        "replay-corrupted": 0.5,
        "updates-too-many": 0.45,
        "sac-alpha-explodes": 0.5,
        "gamma-too-high": 0.4,
        "target-tau-extreme": 0.35,
        "buffer-too-small": 0.35,
        "batch-reused": 0.3,
        "obs-constant": 0.3,
        "reward-misaligned": 0.1,
        "obs-stale": 0.2,
        "offline-overestimation": 0.8,
        "sac-alpha-too-high": 0.4,
        "reward-scale-too-large": 0.2,
        "action-saturation": 0.1,
        "actor-saturation": 0.3,
        "healthy": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        gap, values = (
            median(run["train/metrics/q_gap"], 0.5),
            size(run["train/metrics/q_mean"], 0.5),
        )
        if not (
            gap > self.bound("share") * values and gap > 0.5 * median(run["train/roll/reward_std"])
        ):
            return None
        return self.found(
            f"Action values of {values:.3g} are {gap:.3g} above the returns that follow.",
            "train/metrics/q_gap",
            q_gap=gap,
            q_size=values,
        )
