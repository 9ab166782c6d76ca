"""DAT031."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part, start
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class NoiseFillsTheRange(Rule):
    """Actions spread more widely than random ones, all through the run.

    Why it hurts
        What is done is noise: fine control is neither tried nor seen.

    Evidence
        The deviation of actions over the run beside that of the first, random ones, and the
        share of actions at a bound, of an actor that is deterministic but for its noise.

    Threshold and source
        Above 1.08 times the first in 90 % of the rows after the first fifth, with 30 % at a
        bound (our labelled runs: a deviation of noise of 0.8 and more; healthy actors fall far
        below it at times).

    Prescription
        Noise on actions with a deviation of 0.1 to 0.2 of their range.

    Known false alarms
        Tasks that are solved by switching between the bounds at every step.

    References
        SB3’s documentation of TD3; Lillicrap et al. 2016.
    """

    id = "DAT031"
    name = "noise-fills-the-range"
    family = "data"
    severity = "high"
    families = ("actor-critic",)
    needs = ("train/roll/action_std", "train/roll/action_saturation")
    thresholds = {
        "times": Threshold(1.08, "our labelled runs, 2026-11-16"),
        "bound": Threshold(0.3, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.003
    expected = {
        "action-noise-too-large": 0.9,
        "action-range-unnormalised": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        if run.algo not in ("td3", "ddpg"):
            return None
        first = start(run["train/roll/action_std"])
        spread = part(run["train/roll/action_std"], 0.2)
        bound = part(run["train/roll/action_saturation"], 0.2)
        if len(spread) < 4 * FEWEST:
            raise TooLittle
        if not first > 0:
            return None
        least, at_bound = float(np.quantile(spread, 0.1)), float(np.quantile(bound, 0.1))
        if not (least > self.bound("times") * first and at_bound > self.bound("bound")):
            return None
        return self.found(
            f"Actions deviate by {least:.2g} and more, random ones by {first:.2g}, and "
            f"{at_bound:.0%} or more are at a bound.",
            "train/roll/action_std",
            deviation=least,
            first=first,
        )
