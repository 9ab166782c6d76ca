"""EXP016."""

from __future__ import annotations

import math

from dressage.diagnosis.look import bounds, done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActorCertainEarly(Rule):
    """The actor becomes certain before it is good.

    Why it hurts
        It stops to look for what it has not found.

    Evidence
        The entropy of an actor-critic’s policy in the first half, below its target or far
        below zero for each dimension.

    Threshold and source
        Below -3 nats a dimension, or 2 below the target entropy (guess; the target is -1 a
        dimension).

    Prescription
        ent_coef auto; a higher fixed temperature.

    Known false alarms
        Tasks that need exact actions.

    References
        Haarnoja et al. 2018.
    """

    id = "EXP016"
    name = "actor-certain-early"
    family = "exploration"
    severity = "medium"
    families = ("actor-critic",)
    needs = ("train/metrics/entropy",)
    thresholds = {"nats": Threshold(3.0, "guess")}
    expected = {
        "sac-alpha-too-low": 0.8,
        "reward-scale-vs-alpha": 0.7,
        "actor-saturation": 0.3,
        "reward-scale-too-large": 0.3,
        "lr-too-high": 0.3,
        "q-divergence": 0.2,
        "td-target-wrong": 0.2,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy = run["train/metrics/entropy"]
        limits, target = bounds(run), median(run["train/metrics/target_entropy"])
        dimensions = 1 if limits is None else len(limits[0])
        middle = median(entropy, 0.15, 0.6)
        floor = -self.bound("nats") * dimensions
        if not math.isnan(target):
            floor = target - 2.0 * dimensions
        if not middle < floor or done(run):
            return None
        return self.found(
            f"The actor's entropy is {middle:.3g} nats in the first half of the run; "
            f"{floor:.3g} is low.",
            "train/metrics/entropy",
            entropy=middle,
        )
