"""VAL006."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueGradientZero(Rule):
    """The value function gets no gradient.

    Why it hurts
        It stays as it began, and advantages are as noisy as the returns.

    Evidence
        The gradient norm of the value network.

    Threshold and source
        Below 1e-8 in the median of the first half (guess).

    Prescription
        vf_coef 0.5; let the parameters of the value network learn.

    Known false alarms
        Rewards that are all zero: then there is nothing to learn.

    References
        The cause critic-too-weak.
    """

    id = "VAL006"
    name = "value-gradient-zero"
    family = "value"
    severity = "critical"
    families = ("on-policy", "actor-critic")
    either = ("train/metrics/grad_norm/value", "train/metrics/grad_norm/critic")
    thresholds = {"norm": Threshold(1e-08, "guess")}
    expected = {
        "critic-too-weak": 0.9,
        "features-frozen": 0.05,
        "output-activation": 0.25,
        "value-lr-mismatch": 0.02,
        "sparse-reward": 0.1,
        "reward-uninformative": 0.05,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        value = run["train/metrics/grad_norm/value"] or run["train/metrics/grad_norm/critic"]
        norm = median(value, 0.02, 0.5)
        if not norm < self.bound("norm"):
            return None
        return self.found(
            f"The gradient norm of the value function is {norm:.2g} in the first half of the run.",
            "train/metrics/grad_norm/value",
            norm=norm,
        )
