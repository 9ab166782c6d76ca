"""PRO031."""

from __future__ import annotations

import math

import numpy as np

from dressage.diagnosis.look import FEWEST, median, part, rises, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.table import Array
from dressage.runs.view import RunView


class ReturnsStayScattered(Rule):
    """Late episodes still earn now more and now less, and the values cannot tell which.

    Why it hurts
        A policy that knows its task earns much the same each time; what is left is chance that it
        neither sees nor masters.

    Evidence
        The deviation of single late returns beside that of single early ones, and the explained
        variance.

    Threshold and source
        Over 0.2 of the early deviation, with 5 to 90 % explained and no longer rising (our labelled
        runs, 2026-11-16: 0.24 to 1 with actions that are ignored or late and with stale
        observations; below 0.2, or over 95 % explained, where healthy).

    Prescription
        Probe the environment: does an action do what it says, and at once; is what is observed new.

    Known false alarms
        Tasks with much chance of their own; runs that are still learning.

    References
        The causes action-ignored, action-delay and obs-stale.
    """

    id = "PRO031"
    name = "returns-stay-scattered"
    family = "progress"
    severity = "medium"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance", "train/roll/ep_rew_mean")
    thresholds = {
        "share": Threshold(0.2, "our labelled runs, 2026-11-16"),
        "explained_variance": Threshold(0.9, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.15
    expected = {
        "action-ignored": 0.9,
        "action-delay": 0.7,
        "obs-stale": 0.9,
        "partial-observability": 0.4,
        "reward-misaligned": 0.6,
        "returns-misaligned": 0.5,
        "reward-sign-flipped": 0.6,
        "healthy": 0.01,
    }

    def can_see(self, run: RunView) -> bool:
        rows = run["train/metrics/explained_variance"].values
        return super().can_see(run) and min(len(rows), len(run.episodes.returns)) >= 4 * FEWEST

    def check(self, run: RunView) -> Finding | None:
        explained = run["train/metrics/explained_variance"]
        known, deviation = median(explained, 0.6), run["train/roll/ep_rew_std"]
        if not 0.05 < known < self.bound("explained_variance") or solved(run):
            return None
        if rises(explained, 0.6) and median(explained, 0.85) > known + 0.02:
            return None
        early, late = self._deviation(run, 0.0, 0.1), self._deviation(run, 0.7, 1.0)
        if math.isnan(early):
            early = float(np.max(part(deviation, 0.0, 0.1), initial=0.0))
        if not late > self.bound("share") * early > 0:
            return None
        return self.found(
            f"Single returns deviate by {late:.3g}, at first by {early:.3g}, and the values "
            f"explain {known:.0%}.",
            "train/roll/ep_rew_mean",
            share=late / early,
        )

    def _deviation(self, run: RunView, begin: float, end: float) -> float:
        steps = run.episodes.env_steps
        chosen = (steps >= begin * run.env_steps) & (steps <= end * run.env_steps)
        single: Array = run.episodes.returns[chosen & np.isfinite(run.episodes.returns)]
        return float(np.std(single)) if len(single) >= FEWEST else math.nan
