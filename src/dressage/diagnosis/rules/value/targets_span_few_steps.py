"""VAL038."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView

PARTS = ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0))


class TargetsSpanFewSteps(Rule):
    """The targets of the values sum up one or two rewards, in every part of the run.

    Why it hurts
        What comes later does not count: the agent does what pays at once.

    Evidence
        The mean target over the mean reward a step; where rewards are uneven, the deviation of
        the targets over that of the rewards. Both are measured, not learned, and follow from
        the discount.

    Threshold and source
        Between 0.9 and 3 mean rewards, or between 0.98 and 1.6 deviations, in all of three
        parts of the run (our labelled runs: 3.9 and more where healthy).

    Prescription
        gamma 0.95 to 0.999: 1 / (1 - gamma) near the steps that matter.

    Known false alarms
        Episodes of a few steps; left out.

    References
        The cause gamma-too-low.
    """

    id = "VAL038"
    name = "targets-span-few-steps"
    family = "value"
    severity = "high"
    families = ("on-policy",)
    needs = (
        "train/roll/return_mean",
        "train/roll/return_std",
        "train/roll/reward_mean",
        "train/roll/reward_std",
        "train/roll/ep_len_mean",
    )
    thresholds = {
        "rewards": Threshold(3.0, "our labelled runs, 2026-11-16"),
        "deviations": Threshold(1.6, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.003
    expected = {
        "gamma-too-low": 0.95,
        "discount-misapplied": 0.3,
        "gae-lambda-extreme": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        length = median(run["train/roll/ep_len_mean"])
        if not length > 10.0:
            return None
        means, deviations = self.ratios(run, "mean"), self.ratios(run, "std")
        spread = median(run["train/roll/reward_std"])
        even = abs(median(run["train/roll/reward_mean"])) > 0.2 * spread
        most = min(self.bound("rewards"), 0.15 * length)
        few = even and all(0.9 < ratio < most for ratio in means)
        alike = all(0.98 < ratio < self.bound("deviations") for ratio in deviations)
        if not few and not (alike and not done(run)):
            return None
        worth = float(np.median(means if few else deviations))
        return self.found(
            f"Targets are worth {worth:.3g} {'mean rewards' if few else 'deviations of a reward'} "
            f"throughout; an episode has {length:.0f} steps.",
            "train/roll/return_mean",
            worth=worth,
            length=length,
        )

    def ratios(self, run: RunView, what: str) -> list[float]:
        """Of targets to rewards, in each part of the run; 0 where it cannot be told."""
        found = []
        for place in PARTS:
            over = part(run[f"train/roll/return_{what}"], *place)
            under = part(run[f"train/roll/reward_{what}"], *place)
            known = len(over) >= 3 and len(under) >= 3 and float(np.median(under)) != 0.0
            found.append(float(np.median(over) / np.median(under)) if known else 0.0)
        return found
