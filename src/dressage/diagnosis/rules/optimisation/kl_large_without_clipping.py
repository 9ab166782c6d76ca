"""OPT004."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class KlLargeWithoutClipping(Rule):
    """The policy moves far, and nothing is clipped.

    Why it hurts
        Clipping is what keeps PPO near the data. A bound that is never met does not keep it.

    Evidence
        KL divergence and share of clipped ratios after the first tenth of the run, or in the
        first rows where the policy does not move after them.

    Threshold and source
        KL above 0.02 [37] with fewer than 2 % clipped (guess); where the policy moves no more,
        a KL above 1 in the first rows (our labelled runs, 2026-11-16: 0.2 at most where healthy).

    Prescription
        A clip range of 0.1 to 0.3.

    Known false alarms
        Algorithms without clipping, which do not log the share.

    References
        “The 37 implementation details of PPO”.
    """

    id = "OPT004"
    name = "kl-large-without-clipping"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/kl_divergence", "train/metrics/clip_fraction")
    families = ("on-policy",)
    thresholds = {
        "kl": Threshold(0.02, "37"),
        "first": Threshold(1.0, "our labelled runs, 2026-11-16"),
        "clip_fraction": Threshold(0.02, "guess"),
    }
    elsewhere = 0.01
    expected = {
        "clip-range-too-wide": 0.95,
        "lr-too-high": 0.05,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        kl = median(run["train/metrics/kl_divergence"], 0.1)
        clipped = median(run["train/metrics/clip_fraction"], 0.1)
        far = kl > self.bound("kl")
        if not far:  # a policy that was torn away at once moves no more
            first = part(run["train/metrics/kl_divergence"], 0.0, 0.07)
            kl = float(np.max(first, initial=0.0))
            clipped = float(np.max(part(run["train/metrics/clip_fraction"])[:3], initial=0.0))
            far = kl > self.bound("first")
        if not (far and clipped < self.bound("clip_fraction")):
            return None
        return self.found(
            f"An update moves the policy by a KL of {kl:.3g}, and only {clipped:.1%} of the "
            "ratios meet "
            "the clip range.",
            "train/metrics/kl_divergence",
            kl_median=kl,
            clip_fraction_median=clipped,
        )
