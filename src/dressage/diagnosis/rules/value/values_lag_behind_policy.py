"""VAL007."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median, part, returns, size, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesLagBehindPolicy(Rule):
    """The policy learns well, and the values do not.

    Why it hurts
        The step size is right, so what is missing is particular to the values or to their
        targets.

    Evidence
        An explained variance below one half in the second half, while the KL divergence of
        updates is in its healthy range.

    Threshold and source
        Explained variance below 0.5 [GS] with a KL of 0.001 to 0.03 [37].

    Prescription
        A learning rate of its own for the values, vf_coef 0.5, longer rollouts; look at how
        targets are aligned.

    Known false alarms
        Returns that hardly vary, which are left out; very noisy rewards.

    References
        gymnasium-solver’s alerts; “The 37 implementation details of PPO”.
    """

    id = "VAL007"
    name = "values-lag-behind-policy"
    family = "value"
    severity = "medium"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance", "train/metrics/kl_divergence")
    thresholds = {"explained_variance": Threshold(0.5, "GS"), "kl": Threshold(0.03, "37")}
    elsewhere = 0.12
    expected = {
        "critic-too-weak": 0.6,
        "value-lr-mismatch": 0.75,
        "returns-misaligned": 0.7,
        "value-clip-too-tight": 0.6,
        "output-activation": 0.5,
        "obs-stale": 0.4,
        "partial-observability": 0.4,
        "reward-noise": 0.6,
        "reward-misaligned": 0.4,
        "rollout-too-short": 0.5,
        "network-too-small": 0.6,
        "gae-lambda-extreme": 0.3,
        "time-limit-hidden": 0.35,
        "reward-scale-too-large": 0.4,
        "obs-constant": 0.6,
        "shape-broadcast": 0.5,
        "autoreset-leak": 0.4,
        "reward-uninformative": 0.5,
        "envs-share-seed": 0.2,
        "action-delay": 0.2,
        "obs-unnormalised": 0.3,
        "batch-too-small": 0.2,
        "features-frozen": 0.5,
        "truncation-as-termination": 0.4,
        "gamma-too-high": 0.5,
        "distributed-desync": 0.2,
        "entropy-bonus-too-high": 0.15,
        "activation-choice": 0.15,
        "episode-limit-too-short": 0.1,
        "action-ignored": 0.3,
        "budget-too-small": 0.1,
        "healthy": 0.08,
        "nan-input": 0.3,
        "rollout-too-long": 0.4,
    }

    def check(self, run: RunView) -> Finding | None:
        explained = median(run["train/metrics/explained_variance"], 0.5)
        kl = median(run["train/metrics/kl_divergence"], 0.1)
        if not explained < self.bound("explained_variance") or not 1e-3 < kl < self.bound("kl"):
            return None
        curve = part(returns(run))
        spread = median(run["train/roll/return_std"], 0.5)
        still = spread < 0.05 * size(run["train/roll/return_mean"], 0.5)
        if (len(curve) and float(np.ptp(curve)) < 1e-6) or still or solved(run):
            return None
        return self.found(
            f"The values explain {explained:.0%} of the returns in the second half of the "
            "run, with a "
            f"healthy KL of {kl:.2g}.",
            "train/metrics/explained_variance",
            explained_variance=explained,
        )
