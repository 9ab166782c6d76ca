"""VAL047."""

from __future__ import annotations

import math

from dressage.diagnosis.look import size, size_of_returns
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CriticLossLargeBesideReturns(Rule):
    """The critic errs by a notable part of what a whole episode earns.

    Why it hurts
        An actor that follows such values follows their errors; or what is learned from is larger
        than what is logged.

    Evidence
        The root of the critic's late loss beside the size of an episode's return.

    Threshold and source
        Above 0.15 of it (our labelled runs, 2026-11-17: no healthy run).

    Prescription
        Scale rewards to about one, normalise observations, lower the critic's rate.

    Known false alarms
        Returns near zero, whose size says nothing.

    References
        None.
    """

    id = "VAL047"
    name = "critic-loss-large-beside-returns"
    family = "value"
    severity = "high"
    stands_in = True
    needs = ("train/loss/critic",)
    families = ("actor-critic",)
    thresholds = {"share": Threshold(0.15, "our labelled runs, 2026-11-17")}
    elsewhere = 0.13
    expected = {
        "truncation-as-termination": 0.57,
        "optimizer-state-corrupted": 0.57,
        "reward-scale-too-large": 0.44,
        "obs-unnormalised": 0.34,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        error, usual = math.sqrt(size(run["train/loss/critic"], 0.8)), size_of_returns(run)
        if not error > self.bound("share") * usual:
            return None
        return self.found(
            f"The critic's error is {error:.3g}; a late episode earns or costs {usual:.3g}.",
            "train/loss/critic",
            error=error,
            episode=usual,
        )
