"""OPT019."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueRateUnlikePolicyRate(Rule):
    """Values and policy learn at rates that are far apart.

    Why it hurts
        A critic that lags misleads the policy; one that races ahead chases its own noise.

    Evidence
        The two learning rates in force, or the relative size of their updates where those
        are logged.

    Threshold and source
        Apart by a factor above 20 (guess; up to five is usual).

    Prescription
        value_learning_rate between one and five times the policy’s.

    Known false alarms
        Networks of very different size.

    References
        the cause value-lr-mismatch.
    """

    id = "OPT019"
    name = "value-rate-unlike-policy-rate"
    family = "optimisation"
    severity = "medium"
    families = ("on-policy", "actor-critic")
    either = ("train/hp/value_lr", "value_learning_rate")
    thresholds = {"times": Threshold(20.0, "guess")}
    elsewhere = 0.01
    expected = {
        "value-lr-mismatch": 0.9,
        "critic-too-weak": 0.05,
        "lr-too-high": 0.03,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        policy = in_force(run, "learning_rate", "train/hp/lr")
        value = in_force(run, "value_learning_rate", "train/hp/value_lr")
        if not (policy > 0 and value > 0):
            return None
        times = value / policy
        if not max(times, 1 / times) > self.bound("times"):
            return None
        return self.found(
            f"The values learn at {value:.2g} and the policy at {policy:.2g}: {times:.3g} times.",
            "train/hp/value_lr",
            times=times,
        )
