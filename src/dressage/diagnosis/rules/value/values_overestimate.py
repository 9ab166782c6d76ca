"""VAL012."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesOverestimate(Rule):
    """Action values are far larger than the returns that follow.

    Why it hurts
        The policy prefers what is overrated most.

    Evidence
        The predicted action value beside the discounted return that followed, late in the run.
        Values that are merely nearer to zero have not been learned yet: another symptom.

    Threshold and source
        Apart by over half of the values’ size, and of the larger size or the other sign
        (guess; below a fifth in healthy runs of ours).

    Prescription
        Twin critics and their minimum, double Q-learning, slower targets, a lower rate; ends of
        the task in the memory.

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
        "terminal-not-stored": 0.9,
        "td-target-wrong": 0.3,
        "target-updates-too-often": 0.5,
        "td3-smoothing-off": 0.4,
        "discount-misapplied": 0.3,
        "lr-too-high": 0.35,
        "no-exploration": 0.4,
        "replay-corrupted": 0.6,
        "updates-too-many": 0.45,
        "sac-alpha-explodes": 0.9,
        "gamma-too-high": 0.4,
        "target-tau-extreme": 0.1,
        "buffer-too-small": 0.7,
        "batch-reused": 0.4,
        "obs-constant": 0.3,
        "reward-misaligned": 0.1,
        "obs-stale": 0.2,
        "offline-overestimation": 0.8,
        "sac-alpha-too-high": 0.3,
        "reward-scale-too-large": 0.6,
        "action-saturation": 0.05,
        "actor-saturation": 0.15,
        "reward-scale-too-small": 0.6,
        "reward-scale-vs-alpha": 0.4,
        "obs-unnormalised": 0.5,
        "bad-initialisation": 0.3,
        "updates-too-few": 0.2,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        gap = median(run["train/metrics/q_gap"], 0.75)
        values = median(run["train/metrics/q_mean"], 0.75)
        followed = values - gap
        other_sign = values * followed < 0.0 and abs(values) > 0.5 * abs(followed)
        if not (abs(values) > abs(followed) or other_sign):
            return None
        far = abs(gap) > self.bound("share") * abs(values)
        if not far or abs(gap) < 0.5 * median(run["train/roll/reward_std"]):
            return None
        return self.found(
            f"Action values are {values:.3g} and the returns that follow {followed:.3g}.",
            "train/metrics/q_gap",
            q_gap=gap,
            followed=followed,
        )
