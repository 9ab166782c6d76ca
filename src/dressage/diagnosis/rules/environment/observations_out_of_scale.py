"""ENV002."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ObservationsOutOfScale(Rule):
    """Observations are far from a scale of one.

    Why it hurts
        Large inputs saturate hidden units, and one large entry drowns the others.

    Evidence
        The largest observation entry as the network sees it.

    Threshold and source
        Above 10 in the median over the run [RX].

    Prescription
        normalize_obs=true.

    Known false alarms
        Observations that are unbounded but rarely large.

    References
        RLExplorer.
    """

    id = "ENV002"
    name = "observations-out-of-scale"
    family = "environment"
    severity = "medium"
    needs = ("train/roll/obs_abs_max",)
    thresholds = {"obs_abs_max": Threshold(10.0, "RX")}
    elsewhere = 0.03
    expected = {
        "obs-unnormalised": 0.95,
        "actor-saturation": 0.3,
        "healthy": 0.05,
        "image-scaling": 0.6,
        "dataset-scale-mismatch": 0.2,
        "normaliser-mismatch": 0.1,
    }

    def check(self, run: RunView) -> Finding | None:
        largest = median(run["train/roll/obs_abs_max"])
        if not largest > self.thresholds["obs_abs_max"].value:
            return None
        return self.found(
            f"Observation entries reach {largest:.3g}; within ±10 is healthy.",
            "train/roll/obs_abs_max",
            obs_abs_max=largest,
        )
