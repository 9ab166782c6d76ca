"""OPT002."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import SINGLE_STEP, done, median, part, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyHardlyMoves(Rule):
    """Updates leave the policy almost as it was.

    Why it hurts
        A policy that does not move does not learn, however long it is trained.

    Evidence
        The KL divergence of updates and, where logged, the share of clipped ratios, between
        the first twentieth and 60 % of the run, while the return has not been learned.

    Threshold and source
        KL below 1e-3 in the median [GS] and fewer than 5 % of ratios clipped [GS]; below 1e-6 for
        algorithms that make one step a rollout (our labelled runs, 2026-11-16: 6e-5 to 1e-3 where
        healthy). A run whose return has risen is left alone, unless the KL was a third of that from
        the first row on.

    Prescription
        Raise the learning rate by ten, after a look at its schedule and the optimizer.

    Known false alarms
        A run that has converged, which is why the return is looked at; updates on very large
        batches. A policy that moved in the first rows and stopped is a symptom of its own.

    References
        “Debugging RL, without the agonizing pain”: a very low KL asks for a higher rate.
    """

    id = "OPT002"
    name = "policy-hardly-moves"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/kl_divergence",)
    families = ("on-policy",)
    thresholds = {
        "kl": Threshold(1e-3, "GS"),
        "single": Threshold(1e-6, "our labelled runs, 2026-11-16"),
        "clip_fraction": Threshold(0.05, "GS"),
    }
    elsewhere = 0.1
    expected = {
        "lr-too-low": 0.9,
        "optimizer-eps": 0.7,
        "optimizer-choice": 0.85,
        "dead-policy-gradient": 0.95,
        "grad-clip-too-tight": 0.6,
        "clip-range-too-tight": 0.5,
        "lr-schedule-ends-early": 0.1,
        "network-too-deep": 0.25,
        "critic-dominates": 0.5,
        "target-kl-too-tight": 0.5,
        "features-frozen": 0.2,
        "healthy": 0.02,
        "budget-too-small": 0.05,
        "batch-too-large": 0.3,
        "rollout-too-long": 0.2,
        "reward-uninformative": 0.2,
        "network-too-small": 0.4,
        "entropy-collapse": 0.05,
        "actor-saturation": 0.05,
        "sparse-reward": 0.1,
        "obs-constant": 0.1,
        "advantage-normalisation": 0.15,
        "lr-too-high": 0.02,
        "partial-observability": 0.2,
        "obs-stale": 0.2,
        "returns-misaligned": 0.3,
        "reward-noise": 0.3,
    }

    def check(self, run: RunView) -> Finding | None:
        kl, clipped = run["train/metrics/kl_divergence"], run["train/metrics/clip_fraction"]
        middle = median(kl, 0.05, 0.6)
        single = run.algo in SINGLE_STEP
        bound = self.bound("single" if single else "kl")
        first = float(np.max(part(kl)[:3], initial=0.0))
        if not middle < bound or first > 3.0 * bound:
            return None
        never = max(first, middle) < 0.3 * bound and not single
        if solved(run) if never else done(run):
            return None
        if clipped and not median(clipped, 0.05, 0.6) < self.thresholds["clip_fraction"].value:
            return None
        return self.found(
            f"The KL divergence of an update is {middle:.2g} in the median, and the return has "
            "not risen.",
            "train/metrics/kl_divergence",
            kl_median=middle,
        )
