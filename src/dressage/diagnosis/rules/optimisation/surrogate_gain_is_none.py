"""OPT047."""

from __future__ import annotations

from dressage.diagnosis.look import size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SurrogateGainIsNone(Rule):
    """The policy loss is zero but for rounding.

    Why it hurts
        Normalised advantages have no mean, so the loss is zero as long as the policy that is
        updated is the one that acted: it does not move, or its advantages are all alike.

    Evidence
        The usual size of the policy loss.

    Threshold and source
        Below 1e-7, what is left of sums in single precision (rounding of float32).

    Prescription
        Check the shapes of log-probabilities and advantages, and what requires gradients.

    Known false alarms
        One update a rollout, whose loss is looked at before it: A2C's is not that small.

    References
        Stable-Baselines3 issue 179.
    """

    id = "OPT047"
    name = "surrogate-gain-is-none"
    family = "optimisation"
    severity = "critical"
    stands_in = True
    needs = ("train/loss/policy",)
    families = ("on-policy",)
    thresholds = {"size": Threshold(1e-7, "rounding of float32")}
    elsewhere = 0.09
    expected = {
        "lr-schedule-ends-early": 0.77,
        "shape-broadcast": 0.83,
        "schedule-restarts": 0.58,
        "lr-too-high": 0.43,
        "rollout-too-short": 0.36,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        usual = size(run["train/loss/policy"])
        if not usual < self.bound("size"):
            return None
        return self.found(
            f"{run.own_name('train/loss/policy')} "
            f"is at most {usual:.1g} in size in half of the rows.",
            "train/loss/policy",
            policy_loss=usual,
        )
