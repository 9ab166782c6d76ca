"""OPT035."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, median, members
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class WeightsStandStill(Rule):
    """From some point on, updates change no weight at all.

    Why it hurts
        What is collected from then on teaches nothing, and the rest of the budget is wasted.

    Evidence
        The relative size of updates of every network, after weights that did move.

    Threshold and source
        Below 1e-12 in all networks, from before 80 % of the run to its end (arithmetic: steps
        of an optimizer are never that small unless their rate is zero).

    Prescription
        Let the learning rate's schedule end with the budget.

    Known false alarms
        Runs that were meant to stop learning early. Where gradients vanished too, nothing is said.

    References
        The cause lr-schedule-ends-early.
    """

    id = "OPT035"
    name = "weights-stand-still"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/update_to_weight/*",)
    thresholds = {"step": Threshold(1e-12, "arithmetic"), "place": Threshold(0.8, "guess")}
    elsewhere = 0.01
    expected = {
        "lr-schedule-ends-early": 0.9,
        "lr-too-high": 0.02,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        moves = members(run, "train/metrics/update_to_weight/*")
        moves.pop("alpha", None)
        ends = []
        for series in moves.values():
            moving = np.flatnonzero(series.values > self.bound("step"))
            if len(series.values) < 4 * FEWEST:
                raise TooLittle
            if not len(moving):
                return None
            ends.append((moving[-1] + 1) / len(series.values))
        if not ends or not max(ends) < self.bound("place"):
            return None
        norms = members(run, "train/metrics/grad_norm/*").values()
        if norms and not any(median(norm, max(ends)) > 0.0 for norm in norms):
            return None  # there are no gradients either: nothing was left to learn
        return self.found(
            f"No weight changes after {max(ends):.0%} of the run.",
            "train/metrics/update_to_weight/*",
            share_of_run=float(max(ends)),
        )
