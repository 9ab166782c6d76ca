"""ENV036."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView, Series


class NoActionIsPreferred(Rule):
    """The temperature falls and falls, and the policy stays random.

    Why it hurts
        Even without a bonus for chance the actor finds no action better than another: actions do
        nothing, or the critic cannot tell.

    Evidence
        How far the entropy is above its target, which is the temperature’s loss over its logarithm,
        early and in the middle of the run.

    Threshold and source
        Over 60 % of the early distance with a temperature below a fifth of its start (our labelled
        runs, 2026-11-16: 68 to 90 % where actions or rewards say nothing; at most 41 % where
        healthy).

    Prescription
        Look at what an action changes, at what is observed, and at what the critic learns.

    Known false alarms
        Runs that end before the actor has begun to learn.

    References
        Haarnoja et al. 2018, “Soft actor-critic algorithms and applications”, equation 18.
    """

    id = "ENV036"
    name = "no-action-is-preferred"
    family = "environment"
    severity = "medium"
    families = ("actor-critic",)
    needs = ("train/metrics/alpha", "train/loss/alpha")
    thresholds = {
        "share": Threshold(0.6, "our labelled runs, 2026-11-16"),
        "alpha": Threshold(0.2, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.05
    expected = {
        "action-space-degenerate": 0.9,
        "obs-constant": 0.8,
        "reward-uninformative": 0.8,
        "sparse-reward": 0.9,
        "target-tau-extreme": 0.6,
        "value-lr-mismatch": 0.6,
        "truncation-as-termination": 0.4,
        "action-ignored": 0.2,
        "replay-corrupted": 0.3,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        alpha, loss = run["train/metrics/alpha"], run["train/loss/alpha"]
        if len(alpha.values) != len(loss.values) or done(run):
            return None
        fallen = median(alpha, 0.4, 0.7)
        known = (alpha.values > 0) & (alpha.values < 0.9)
        if not known.any() or not fallen < self.bound("alpha") * float(alpha.values[0]):
            return None
        above = Series(alpha.env_steps[known], loss.values[known] / np.log(alpha.values[known]))
        early, late = median(above, 0.0, 0.2), median(above, 0.4, 0.7)
        if not (early > 0 and late > self.bound("share") * early):
            return None
        return self.found(
            f"The entropy is {late:.2g} nats above its target, {early:.2g} at first, at a "
            f"temperature of {fallen:.2g}.",
            "train/metrics/alpha",
            above=late,
        )
