"""OPT009."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueGradientDwarfsPolicy(Rule):
    """The value gradient is hundreds of times the policy's.

    Why it hurts
        Both are clipped together: what is left of the policy's is next to nothing, and in a
        shared network the policy is not learned at all.

    Evidence
        The gradient norms of value and policy after the first tenth of the run.

    Threshold and source
        A ratio above 300 in the median (guess; 10 to 90 early in healthy runs of ours on
        CartPole).

    Prescription
        Rewards on a scale near one, vf_coef 0.1, networks of their own.

    Known false alarms
        Separate optimizers, which are clipped apart.

    References
        SB3 issue 2240.
    """

    id = "OPT009"
    name = "value-gradient-dwarfs-policy"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/grad_norm/policy", "train/metrics/grad_norm/value")
    thresholds = {"ratio": Threshold(300.0, "guess")}
    elsewhere = 0.03
    expected = {
        "critic-dominates": 0.9,
        "reward-scale-too-large": 0.9,
        "gamma-too-high": 0.3,
        "value-clip-too-tight": 0.2,
        "obs-unnormalised": 0.2,
        "truncation-as-termination": 0.1,
        "healthy": 0.006,
    }

    def check(self, run: RunView) -> Finding | None:
        policy = median(run["train/metrics/grad_norm/policy"], 0.1, 0.8)
        value = median(run["train/metrics/grad_norm/value"], 0.1, 0.8)
        if not (policy > 1e-8 and value / policy > self.bound("ratio")):
            return None
        return self.found(
            f"The value gradient has a norm of {value:.3g}, the policy's {policy:.3g}: "
            f"{value / policy:.0f} times as much.",
            "train/metrics/grad_norm/value",
            ratio=value / policy,
        )
