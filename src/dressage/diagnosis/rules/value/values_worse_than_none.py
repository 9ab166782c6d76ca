"""VAL008."""

from __future__ import annotations

from dressage.diagnosis.look import median, size, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesWorseThanNone(Rule):
    """The values predict worse than a constant would.

    Why it hurts
        Advantages are then noisier than without a value function.

    Evidence
        The explained variance in the second half of the run.

    Threshold and source
        Below -0.3 in the median (guess; -0.2 alarms elsewhere [GS]).

    Prescription
        Look at how targets and predictions are aligned; a lower rate for the values.

    Known false alarms
        Returns that hardly vary, for which the number says nothing.

    References
        gymnasium-solver’s alerts.
    """

    id = "VAL008"
    name = "values-worse-than-none"
    family = "value"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance",)
    thresholds = {"explained_variance": Threshold(-0.3, "guess")}
    expected = {
        "returns-misaligned": 0.6,
        "output-activation": 0.4,
        "value-clip-too-tight": 0.5,
        "lr-too-high": 0.45,
        "reward-scale-too-large": 0.3,
        "critic-too-weak": 0.25,
        "shape-broadcast": 0.4,
        "value-lr-mismatch": 0.35,
        "bad-initialisation": 0.15,
        "gamma-too-high": 0.25,
        "obs-unnormalised": 0.2,
        "rollout-too-short": 0.3,
        "grad-clip-missing": 0.15,
        "weight-decay-too-strong": 0.15,
        "optimizer-state-corrupted": 0.15,
        "autoreset-leak": 0.15,
        "obs-constant": 0.15,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        late = median(run["train/metrics/explained_variance"], 0.4)
        spread = median(run["train/roll/return_std"], 0.4)
        still = spread < 0.02 * size(run["train/roll/return_mean"], 0.4)
        if not late < self.bound("explained_variance") or still or solved(run):
            return None
        return self.found(
            f"The explained variance is {late:.2f} in the median after the first part of the run.",
            "train/metrics/explained_variance",
            explained_variance=late,
        )
