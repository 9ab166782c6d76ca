"""VAL017."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesClipped(Rule):
    """Value predictions are clipped most of the time.

    Why it hurts
        A clipped prediction has no gradient: the values move by at most the clip an update,
        however far their target.

    Evidence
        The share of clipped value predictions, or RLlib’s clipped loss far below the
        unclipped one.

    Threshold and source
        Above 0.5 after the first fifth (guess).

    Prescription
        No value clip, or one above the largest value.

    Known false alarms
        The first updates, in which values are far off; left out.

    References
        ray issues 2921 and 8908.
    """

    id = "VAL017"
    name = "values-clipped"
    family = "value"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/value_clip_fraction",)
    thresholds = {"share": Threshold(0.5, "guess")}
    elsewhere = 0.003
    expected = {
        "value-clip-too-tight": 0.9,
        "reward-scale-too-large": 0.6,
        "lr-too-high": 0.3,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        share = median(run["train/metrics/value_clip_fraction"], 0.2)
        if not share > self.bound("share"):
            return None
        return self.found(
            f"{share:.0%} of the value predictions are clipped after the first fifth of the run.",
            "train/metrics/value_clip_fraction",
            share=share,
        )
