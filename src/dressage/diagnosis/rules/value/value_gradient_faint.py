"""VAL006."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueGradientFaint(Rule):
    """The value function gets hardly any gradient.

    Why it hurts
        It stays as it began, and advantages are as noisy as the returns.

    Evidence
        The gradient norm of the value network, alone and beside the policy’s, in the first
        third of the run.

    Threshold and source
        Below 1e-8, or below a hundredth of the policy’s (guess; 10 to 90 times it early in
        healthy runs).

    Prescription
        vf_coef 0.5; let the parameters of the value network learn.

    Known false alarms
        Rewards that are all zero: then there is nothing to learn.

    References
        The cause critic-too-weak.
    """

    id = "VAL006"
    name = "value-gradient-faint"
    family = "value"
    severity = "critical"
    families = ("on-policy", "actor-critic")
    either = ("train/metrics/grad_norm/value", "train/metrics/grad_norm/critic")
    thresholds = {"norm": Threshold(1e-08, "guess"), "ratio": Threshold(0.01, "guess")}
    elsewhere = 0.01
    expected = {
        "reward-scale-too-small": 0.4,
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
        norm = median(value, 0.0, 0.33)
        policy = median(run["train/metrics/grad_norm/policy"], 0.0, 0.33)
        if not (norm < self.bound("norm") or norm < self.bound("ratio") * policy):
            return None
        return self.found(
            f"The gradient norm of the value function is {norm:.2g} in the first third of the run.",
            "train/metrics/grad_norm/value",
            norm=norm,
        )
