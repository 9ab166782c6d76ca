"""EXP006."""

from __future__ import annotations

from dressage.diagnosis.look import end, rises, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionDeviationExplodes(Rule):
    """The deviation of the actions grows without end.

    Why it hurts
        Actions are then noise, cut off at their bounds.

    Evidence
        The deviation of the Gaussian policy, start against end.

    Threshold and source
        More than twice its start and rising (guess).

    Prescription
        ent_coef 0, rewards on a scale near one, a squashed or state-dependent deviation.

    Known false alarms
        Policies that begin with a very small deviation (log_std_init -2 or below).

    References
        openai/baselines issue 371.
    """

    id = "EXP006"
    name = "action-deviation-explodes"
    family = "exploration"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/action_std",)
    thresholds = {"times": Threshold(2.0, "guess")}
    expected = {
        "action-std-explosion": 0.95,
        "entropy-bonus-too-high": 0.1,
        "reward-uninformative": 0.25,
        "reward-scale-too-small": 0.3,
        "lr-too-high": 0.45,
        "policy-loss-sign": 0.25,
        "action-saturation": 0.25,
        "action-space-degenerate": 0.2,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        deviation = run["train/metrics/action_std"]
        first, last = start(deviation), end(deviation)
        if not (last > self.bound("times") * first and last > 1.0 and rises(deviation)):
            return None
        return self.found(
            f"The deviation of the policy's actions grew from {first:.3g} to {last:.3g}.",
            "train/metrics/action_std",
            std_start=first,
            std_end=last,
        )
