"""VAL003."""

from __future__ import annotations

from dressage.diagnosis.look import episode_length, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.diagnosis.rules.value.values_beyond_an_episode import usual_reward
from dressage.runs.view import RunView


class ValuesDiverge(Rule):
    """Action values grow beyond what rewards can give.

    Why it hurts
        Values feed on themselves through the bootstrap; the policy follows numbers that mean
        nothing.

    Evidence
        Growth of the mean predicted value by a factor of ten in the second half, or a value that is
        beyond all rewards.

    Threshold and source
        Ten times the value at half of the run, or above 3000 rewards of the usual size and ten
        episodes of them (guess).

    Prescription
        A lower learning rate, double Q-learning, slower targets; check that ends of the task are
        stored.

    Known false alarms
        Rewards that themselves grow during the run.

    References
        van Hasselt et al. 2016; ReAgent issue 189.
    """

    id = "VAL003"
    name = "values-diverge"
    family = "value"
    severity = "critical"
    needs = ("train/metrics/q_mean",)
    families = ("value-based", "actor-critic")
    thresholds = {"growth": Threshold(10.0, "guess"), "least": Threshold(10.0, "guess")}
    expected = {
        "q-divergence": 0.9,
        "terminal-not-stored": 0.6,
        "lr-too-high": 0.5,
        "target-updates-too-often": 0.4,
        "gamma-too-high": 0.4,
        "td-target-wrong": 0.3,
        "sac-alpha-explodes": 0.4,
        "healthy": 0.01,
        "replay-corrupted": 0.3,
        "updates-too-many": 0.3,
        "offline-overestimation": 0.5,
        "discount-misapplied": 0.3,
        "reward-scale-too-large": 0.1,
        "td3-smoothing-off": 0.1,
        "target-tau-extreme": 0.3,
    }

    def check(self, run: RunView) -> Finding | None:
        q = run["train/metrics/q_mean"]
        half, late = abs(median(q, 0.3, 0.5)), abs(median(q, 0.9))
        bounds = self.thresholds
        usual = usual_reward(run)
        length = episode_length(run)
        beyond = usual > 1e-6 and late > 3000.0 * usual and not late < 10.0 * length * usual
        if not beyond and not late > bounds["growth"].value * max(half, bounds["least"].value):
            return None
        return self.found(
            f"The mean action value went from {half:.3g} to {late:.3g} in the second half of the "
            "run.",
            "train/metrics/q_mean",
            q_half=half,
            q_late=late,
        )
