"""OPT018."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SmallStepsAddUp(Rule):
    """Each step is small, and together they go too far.

    Why it hurts
        The rate is right and there are too many steps, or the data is not of the policy
        that learns from it.

    Evidence
        KL divergence of an update beside the size of a single step.

    Threshold and source
        KL above 0.05 [GS] with a step below 3e-3 of the weights (guess; 1e-3 is usual
        [KA]).

    Prescription
        n_epochs 3 to 10, a KL limit of 0.015; the workers’ parameters in step.

    Known false alarms
        Shared networks, in which a small change moves both heads.

    References
        “The 37 implementation details of PPO”.
    """

    id = "OPT018"
    name = "small-steps-add-up"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/kl_divergence", "train/metrics/update_to_weight/policy")
    thresholds = {"kl": Threshold(0.05, "GS"), "step": Threshold(0.003, "guess")}
    expected = {
        "too-many-epochs": 0.65,
        "distributed-desync": 0.6,
        "clip-range-too-wide": 0.4,
        "batch-too-small": 0.3,
        "rollout-too-short": 0.6,
        "advantage-normalisation": 0.25,
        "bad-initialisation": 0.15,
        "lr-too-high": 0.15,
        "obs-unnormalised": 0.2,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        kl = median(run["train/metrics/kl_divergence"], 0.1)
        step = median(run["train/metrics/update_to_weight/policy"], 0.1)
        if not (kl > self.bound("kl") and step < self.bound("step")):
            return None
        return self.found(
            f"The KL of an update is {kl:.3g} though a single step is {step:.2g} of the weights.",
            "train/metrics/kl_divergence",
            kl_median=kl,
            update_to_weight=step,
        )
