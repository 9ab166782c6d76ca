"""EXP002."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import SINGLE_STEP, deviation_grew, done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyStaysRandom(Rule):
    """The policy is still almost as random as at the start.

    Why it hurts
        What is learned must show in what is done.

    Evidence
        The entropy in the second half of the run against its start, where the return has not risen.

    Threshold and source
        Above 90 % of its start after half of the run (guess; “stays near 1” [AJ]).

    Prescription
        Divide the entropy bonus by ten; a learning rate that moves the policy.

    Known false alarms
        Tasks whose best policy is random; runs that are far from done. A Gaussian
        whose deviation grows is a symptom of its own, and one that gets a single step a rollout
        keeps its deviation where it learns too.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "EXP002"
    name = "policy-stays-random"
    family = "exploration"
    severity = "high"
    needs = ("train/metrics/entropy",)
    families = ("on-policy",)
    thresholds = {"share": Threshold(0.9, "guess")}
    elsewhere = 0.08
    expected = {
        "entropy-bonus-too-high": 0.6,
        "lr-too-low": 0.9,
        "reward-uninformative": 0.7,
        "sparse-reward": 0.5,
        "dead-policy-gradient": 0.95,
        "optimizer-eps": 0.8,
        "optimizer-choice": 0.85,
        "obs-constant": 0.3,
        "weight-decay-too-strong": 0.6,
        "action-ignored": 0.4,
        "budget-too-small": 0.15,
        "healthy": 0.03,
        "grad-clip-too-tight": 0.6,
        "target-kl-too-tight": 0.5,
        "clip-range-too-tight": 0.4,
        "critic-dominates": 0.5,
        "network-too-deep": 0.3,
        "action-std-explosion": 0.1,
        "reward-scale-too-small": 0.4,
        "returns-misaligned": 0.4,
        "lr-schedule-ends-early": 0.3,
        "shape-broadcast": 0.4,
        "rollout-too-long": 0.4,
        "batch-too-large": 0.3,
        "obs-stale": 0.2,
        "reward-scale-too-large": 0.2,
        "features-frozen": 0.2,
        "network-too-small": 0.3,
        "value-clip-too-tight": 0.1,
        "critic-too-weak": 0.15,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy = run["train/metrics/entropy"]
        first, late = part(entropy, 0.0, 0.05), median(entropy, 0.5)
        if not len(first) or done(run) or deviation_grew(run):
            return None
        if run.algo in SINGLE_STEP and run["train/metrics/action_std"]:
            return None
        start = float(np.median(first))
        if not (start > 0 and late > self.thresholds["share"].value * start):
            return None
        return self.found(
            f"The policy's entropy is {late:.3g} nats in the second half of the run, "
            f"{late / start:.0%} of "
            "its start, and the return has not risen.",
            "train/metrics/entropy",
            entropy_start=start,
            entropy_late=late,
        )
