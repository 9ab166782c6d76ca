"""EXP010."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EpsilonFallsAtOnce(Rule):
    """Random actions end almost as soon as the run begins.

    Why it hurts
        The values are still random then, and what they overlook is never seen.

    Evidence
        The place at which the share of random actions comes within a tenth of its range of
        the lowest.

    Threshold and source
        Before 3 % of the run (guess; 1 % in the literature’s worst, 10 to 30 % is usual).

    Prescription
        exploration_fraction 0.1 to 0.3.

    Known false alarms
        Very long budgets.

    References
        muPRL.
    """

    id = "EXP010"
    name = "epsilon-falls-at-once"
    family = "exploration"
    severity = "medium"
    families = ("value-based",)
    needs = ("train/hp/epsilon",)
    thresholds = {"place": Threshold(0.03, "guess")}
    elsewhere = 0.01
    expected = {
        "epsilon-decays-too-fast": 0.95,
        "no-exploration": 0.4,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        rate = run["train/hp/epsilon"]
        values = part(rate)
        if len(values) < 4 * FEWEST:
            raise TooLittle
        high, low = float(values[0]), float(values.min())
        span = max(rate.env_steps[-1], run.budget or 0.0)
        near = np.flatnonzero(values <= low + 0.1 * max(0.0, 1.0 - low))
        place = float(rate.env_steps[near[0]]) / span
        if not (high > 0.0 and low < 0.5 and place < self.bound("place")):
            return None
        if run.config.get("noisy") is True or run.algo in ("rainbow", "bootstrapped_dqn"):
            return None
        return self.found(
            f"The share of random actions is down to {values[near[0]]:.2g} at {place:.1%} "
            "of the run.",
            "train/hp/epsilon",
            share_of_run=place,
        )
