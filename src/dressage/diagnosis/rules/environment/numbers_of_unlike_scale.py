"""ENV049."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class NumbersOfUnlikeScale(Rule):
    """The numbers of an observation vary on very different scales.

    Why it hurts
        The largest drown the others: a network with one learning rate hears the small ones last.

    Evidence
        The largest deviation over the smallest, among the numbers that change.

    Threshold and source
        Above 1,000 in the median (guess).

    Prescription
        normalize_obs=true.

    Known false alarms
        Numbers that are nearly constant by themselves.

    References
        The metric train/roll/obs_scale_ratio.
    """

    id = "ENV049"
    name = "numbers-of-unlike-scale"
    family = "environment"
    severity = "medium"
    needs = ("train/roll/obs_scale_ratio",)
    thresholds = {"ratio": Threshold(1000.0, "guess")}
    elsewhere = 0.01
    expected = {
        "obs-unnormalised": 0.6,
        "actor-saturation": 0.2,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        ratio = median(run["train/roll/obs_scale_ratio"])
        if not ratio > self.bound("ratio"):
            return None
        return self.found(
            f"One number of an observation varies {ratio:.3g} times as much as another.",
            "train/roll/obs_scale_ratio",
            ratio=ratio,
        )
