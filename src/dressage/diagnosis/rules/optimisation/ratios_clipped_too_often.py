"""OPT003."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RatiosClippedTooOften(Rule):
    """Most probability ratios are clipped.

    Why it hurts
        A clipped ratio has no gradient: most of the data then teaches nothing, or the updates are
        so large that nearly all of it lies beyond the bound.

    Evidence
        The share of clipped ratios after the first tenth of the run.

    Threshold and source
        Above 0.5 in the median [GS]; 0.05 to 0.2 is usual.

    Prescription
        Where the KL is large too: divide the learning rate by three. Where it is tiny: a clip range
        of 0.1 to 0.3.

    Known false alarms
        A schedule that takes the clip range to zero at the end of a run.

    References
        gymnasium-solver’s alerts; rldoctor.
    """

    id = "OPT003"
    name = "ratios-clipped-too-often"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/clip_fraction",)
    families = ("on-policy",)
    thresholds = {"clip_fraction": Threshold(0.5, "GS")}
    expected = {
        "lr-too-high": 0.7,
        "too-many-epochs": 0.6,
        "clip-range-too-tight": 0.9,
        "rollout-too-short": 0.5,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        clipped, bound = run["train/metrics/clip_fraction"], self.thresholds["clip_fraction"].value
        middle = median(clipped, 0.1, 0.9)
        if not middle > bound:
            return None
        return self.found(
            f"{middle:.0%} of the probability ratios are clipped in the median; 5 to 20 % is "
            "usual.",
            "train/metrics/clip_fraction",
            clip_fraction_median=middle,
        )
