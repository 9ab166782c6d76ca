"""VAL037."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetsKeepGrowing(Rule):
    """The targets of the values grow all through the run, and rewards do not.

    Why it hurts
        Without a discount that ends it, each target is a reward more than the last: the values
        are never learned, and advantages are the difference of two large numbers.

    Evidence
        The mean target over the mean reward a step, in episodes that only the clock ends.

    Threshold and source
        2.5 times that of the first tenth, and still 10 % more in the last fifth than in the
        middle (our labelled runs: 4.6-fold with a discount of 0.9997, at most 1.6-fold else).

    Prescription
        gamma 0.9 to 0.99: 1 / (1 - gamma) near the steps that matter.

    Known false alarms
        Episodes that become longer and rewards of either sign; both are left out.

    References
        The cause gamma-too-high.
    """

    id = "VAL037"
    name = "targets-keep-growing"
    family = "value"
    severity = "high"
    families = ("on-policy",)
    needs = (
        "train/roll/return_mean",
        "train/roll/reward_mean",
        "train/roll/reward_std",
        "train/roll/truncated_share",
    )
    thresholds = {
        "growth": Threshold(2.5, "our labelled runs, 2026-11-16"),
        "still": Threshold(1.1, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.005
    expected = {
        "gamma-too-high": 0.9,
        "discount-misapplied": 0.3,
        "autoreset-leak": 0.05,
        "healthy": 0.004,
    }

    def check(self, run: RunView) -> Finding | None:
        targets, rewards = run["train/roll/return_mean"], run["train/roll/reward_mean"]
        cut = part(run["train/roll/truncated_share"])
        if not len(cut) or float(np.mean(cut > 0.95)) < 0.9:
            return None
        worth = []
        for place in ((0.0, 0.12), (0.4, 0.6), (0.8, 1.0)):
            over, under = part(targets, *place), part(rewards, *place)
            spread = part(run["train/roll/reward_std"], *place)
            if min(len(over), len(under), len(spread)) < 3:
                return None
            if not abs(np.median(under)) > 0.5 * np.median(spread):
                return None
            worth.append(float(np.median(over) / np.median(under)))
        first, middle, last = worth
        if not 0.0 < self.bound("growth") * first < last or last < self.bound("still") * middle:
            return None
        return self.found(
            f"Targets are worth {first:.3g} mean rewards at first, {middle:.3g} halfway and "
            f"{last:.3g} at the end.",
            "train/roll/return_mean",
            first=first,
            last=last,
        )
