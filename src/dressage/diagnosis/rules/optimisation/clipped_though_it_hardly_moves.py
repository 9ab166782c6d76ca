"""OPT022."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ClippedThoughItHardlyMoves(Rule):
    """Many ratios are clipped though the policy hardly moves.

    Why it hurts
        The bound is so tight that it stops every step at its first move.

    Evidence
        The share of clipped ratios beside the KL divergence of updates.

    Threshold and source
        Over 30 % clipped with a KL below 1e-3 (guess; 5 to 20 % at 0.003 to 0.02 are
        usual).

    Prescription
        clip_range 0.1 to 0.3.

    Known false alarms
        A schedule that takes the clip range to zero: the middle of the run is looked at.

    References
        Schulman et al. 2017.
    """

    id = "OPT022"
    name = "clipped-though-it-hardly-moves"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/clip_fraction", "train/metrics/kl_divergence")
    thresholds = {"clip_fraction": Threshold(0.3, "guess"), "kl": Threshold(0.001, "guess")}
    elsewhere = 0.01
    expected = {
        "clip-range-too-tight": 0.95,
        "lr-too-high": 0.02,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        clipped = median(run["train/metrics/clip_fraction"], 0.05, 0.6)
        kl = median(run["train/metrics/kl_divergence"], 0.05, 0.6)
        if not (clipped > self.bound("clip_fraction") and kl < self.bound("kl")):
            return None
        return self.found(
            f"{clipped:.0%} of the ratios are clipped at a KL of only {kl:.2g}.",
            "train/metrics/clip_fraction",
            clip_fraction=clipped,
            kl=kl,
        )
