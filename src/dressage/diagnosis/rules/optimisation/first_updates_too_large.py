"""OPT020."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class FirstUpdatesTooLarge(Rule):
    """The very first updates tear the policy away.

    Why it hurts
        What they learn from was collected by a policy that is gone at once; what comes
        after is learned from the wreck.

    Evidence
        The KL divergence of updates in the first twentieth of the run.

    Threshold and source
        Above 0.05 in the median [GS], or a single one above 1 (guess; 0.003 to 0.02 in healthy
        runs).

    Prescription
        Divide the learning rate by ten; a KL limit of 0.015; a policy that begins near
        equal chances.

    Known false alarms
        Tiny networks on tiny tasks.

    References
        “The 37 implementation details of PPO”.
    """

    id = "OPT020"
    name = "first-updates-too-large"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/kl_divergence",)
    thresholds = {"kl": Threshold(0.05, "GS")}
    expected = {
        "lr-too-high": 0.85,
        "too-many-epochs": 0.6,
        "clip-range-too-wide": 0.6,
        "bad-initialisation": 0.5,
        "advantage-normalisation": 0.4,
        "obs-unnormalised": 0.15,
        "optimizer-state-corrupted": 0.05,
        "entropy-collapse": 0.05,
        "batch-too-small": 0.3,
        "rollout-too-short": 0.6,
        "lr-decay-too-little": 0.3,
        "grad-clip-missing": 0.3,
        "distributed-desync": 0.3,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        values = part(run["train/metrics/kl_divergence"], 0.0, 0.07)
        if len(values) < 2 or not (np.median(values) > self.bound("kl") or values.max() > 1.0):
            return None
        return self.found(
            f"The KL divergence of the first updates is {np.median(values):.3g}, at most "
            f"{values.max():.3g}.",
            "train/metrics/kl_divergence",
            kl=float(np.median(values)),
        )
