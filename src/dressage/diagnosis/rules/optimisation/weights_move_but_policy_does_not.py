"""OPT034."""

from __future__ import annotations

from dressage.diagnosis.look import SINGLE_STEP, learned, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsMoveButPolicyDoesNot(Rule):
    """The policy's weights move as usual, and what it does stays the same.

    Why it hurts
        The steps are right in size and do not reach the output: a part of the network is cut
        off, or what it is pushed by says nothing.

    Evidence
        The relative size of updates of the policy's weights beside the KL divergence that
        they make.

    Threshold and source
        Updates above 1e-4 of the weights with a KL below 2e-5 (our labelled runs, 2026-11-16:
        1e-3 in healthy runs of PPO).

    Prescription
        Look for frozen parameters, a detach, a ratio of new to new log-probabilities,
        advantages that are all zero.

    Known false alarms
        Clip ranges and KL limits that stop every update, which are left out where it shows;
        algorithms that make one step a rollout.

    References
        The cause dead-policy-gradient.
    """

    id = "OPT034"
    name = "weights-move-but-policy-does-not"
    family = "optimisation"
    severity = "critical"
    families = ("on-policy",)
    needs = ("train/metrics/update_to_weight/policy", "train/metrics/kl_divergence")
    thresholds = {
        "step": Threshold(1e-4, "our labelled runs, 2026-11-16"),
        "kl": Threshold(2e-5, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "dead-policy-gradient": 0.5,
        "features-frozen": 0.1,
        "target-kl-too-tight": 0.3,
        "clip-range-too-tight": 0.1,
        "network-too-small": 0.3,
        "weight-decay-too-strong": 0.6,
        "shape-broadcast": 0.1,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        step = median(run["train/metrics/update_to_weight/policy"], 0.0, 0.4)
        kl = median(run["train/metrics/kl_divergence"], 0.0, 0.4)
        clipped = median(run["train/metrics/clip_fraction"], 0.0, 0.4)
        if run.algo in SINGLE_STEP or learned(run):
            return None
        if not (step > self.bound("step") and kl < self.bound("kl")) or clipped > 0.05:
            return None
        return self.found(
            f"An update changes the policy's weights by {step:.2g} of themselves and the policy by "
            f"a KL of {kl:.2g}.",
            "train/metrics/kl_divergence",
            update_to_weight=step,
            kl_median=kl,
        )
