"""OPT005."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyGradientZero(Rule):
    """The policy gets no gradient while the values do.

    Why it hurts
        Nothing that is learned about values reaches what is done.

    Evidence
        The gradient norms of the policy and of the value network, after the first twentieth
        of the run.

    Threshold and source
        Policy below 1e-8 with values above it (guess: a gradient in single precision is
        never that small unless it is cut off).

    Prescription
        Look for a detach, a frozen parameter, or a ratio of new to new log-probabilities.

    Known false alarms
        A policy that has become certain of every choice: its gradient falls to zero by
        itself, which is why the first half of the run is looked at.

    References
        rl-debug-bench, the detached ratio.
    """

    id = "OPT005"
    name = "policy-gradient-zero"
    family = "optimisation"
    severity = "critical"
    families = ("on-policy", "actor-critic")
    either = ("train/metrics/grad_norm/policy", "train/metrics/grad_norm/actor")
    thresholds = {"norm": Threshold(1e-08, "guess")}
    elsewhere = 0.01
    expected = {
        "dead-policy-gradient": 0.9,
        "features-frozen": 0.1,
        "lr-too-high": 0.25,
        "entropy-collapse": 0.2,
        "policy-loss-sign": 0.2,
        "actor-saturation": 0.15,
        "bad-initialisation": 0.1,
        "no-exploration": 0.02,
        "healthy": 0.003,
        "shape-broadcast": 0.3,
    }

    def check(self, run: RunView) -> Finding | None:
        policy = run["train/metrics/grad_norm/policy"] or run["train/metrics/grad_norm/actor"]
        value = run["train/metrics/grad_norm/value"] or run["train/metrics/grad_norm/critic"]
        acts, values = median(policy, 0.05, 0.5), median(value, 0.05, 0.5)
        if not (acts < self.bound("norm") < values):
            return None
        return self.found(
            f"The gradient norm of the policy is {acts:.2g}, that of the values {values:.3g}.",
            "train/metrics/grad_norm/policy",
            policy_norm=acts,
            value_norm=values,
        )
