"""OPT031."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView, Series

FIRST_ROWS = 5


class FirstUpdatesOvershoot(Rule):
    """The first updates carry nearly every ratio beyond the clip range, and far.

    Why it hurts
        Clipping takes the gradient away beyond its bound and cannot bring a policy back: a
        step that is far longer than the bound lands where the surrogate says nothing.

    Evidence
        The share of clipped ratios and the KL divergence in that of the first five rows in which
        most are clipped.

    Threshold and source
        Over 50 % clipped at a KL above 0.08 (our labelled runs, 2026-11-17: at most 29 %
        where healthy, 56 % and more at rates of 0.05 and 0.1).

    Prescription
        Divide the learning rate by ten.

    Known false alarms
        Clip ranges that are far too tight, whose KL is small.

    References
        Schulman et al. 2017; the cause lr-too-high.
    """

    id = "OPT031"
    name = "first-updates-overshoot"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/clip_fraction", "train/metrics/kl_divergence")
    thresholds = {
        "clip_fraction": Threshold(0.5, "our labelled runs, 2026-11-16"),
        "kl": Threshold(0.08, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "lr-too-high": 0.95,
        "schedule-restarts": 0.7,
        "too-many-epochs": 0.15,
        "rollout-too-short": 0.1,
        "batch-too-small": 0.1,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        clipped = run["train/metrics/clip_fraction"]
        first = clipped.values[np.isfinite(clipped.values)][:FIRST_ROWS]
        if not len(first):
            return None
        share = float(first.max())
        place = clipped.env_steps[np.flatnonzero(clipped.values == share)[0]]
        moved = _at(run["train/metrics/kl_divergence"], place)
        if not (share > self.bound("clip_fraction") and moved > self.bound("kl")):
            return None
        return self.found(
            f"{share:.0%} of the ratios are clipped at {place:,.0f} env steps, at a KL of "
            f"{moved:.3g}.",
            "train/metrics/clip_fraction",
            clip_fraction=share,
            kl=moved,
        )


def _at(series: Series, env_steps: float) -> float:
    """The finite value nearest to a place of the run; NaN of none."""
    known = np.flatnonzero(np.isfinite(series.values))
    if not len(known):
        return math.nan
    return float(series.values[known[np.abs(series.env_steps[known] - env_steps).argmin()]])
