"""ENV003."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ObservationsConstant(Rule):
    """Observations hardly vary.

    Why it hurts
        A network that always sees the same cannot choose differently.

    Evidence
        The deviation of the observations as the network sees them.

    Threshold and source
        Below 1e-3 [RX].

    Prescription
        Look at what the environment returns, and at wrappers around it.

    Known false alarms
        One-hot observations of many entries.

    References
        RLExplorer.
    """

    id = "ENV003"
    name = "observations-constant"
    family = "environment"
    severity = "critical"
    needs = ("train/roll/obs_std",)
    thresholds = {"obs_std": Threshold(1e-3, "RX")}
    elsewhere = 0.01
    expected = {
        "obs-constant": 0.95,
        "image-scaling": 0.5,
        "healthy": 0.002,
        "nan-input": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        spread = median(run["train/roll/obs_std"])
        if not spread < self.thresholds["obs_std"].value:
            return None
        return self.found(
            f"Observations have a deviation of {spread:.2g}: they say almost nothing.",
            "train/roll/obs_std",
            obs_std=spread,
        )
