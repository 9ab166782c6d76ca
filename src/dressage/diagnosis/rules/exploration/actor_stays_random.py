"""EXP015."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class ActorStaysRandom(Rule):
    """The actor is as random at the end as at the start.

    Why it hurts
        The reward does not reach it, or entropy is worth more.

    Evidence
        The entropy of an actor-critic’s policy in its last third against its first rows.

    Threshold and source
        Within 0.15 nats of its highest (guess).

    Prescription
        A lower temperature, larger rewards, a higher learning rate.

    Known false alarms
        Tasks whose best policy is random.

    References
        Haarnoja et al. 2018.
    """

    id = "EXP015"
    name = "actor-stays-random"
    family = "exploration"
    severity = "high"
    families = ("actor-critic",)
    needs = ("train/metrics/entropy",)
    thresholds = {"nats": Threshold(0.15, "guess")}
    expected = {
        "sac-alpha-too-high": 0.9,
        "sac-alpha-explodes": 0.6,
        "lr-too-low": 0.85,
        "reward-scale-too-small": 0.6,
        "reward-uninformative": 0.5,
        "optimizer-choice": 0.8,
        "optimizer-eps": 0.6,
        "updates-starved": 0.6,
        "updates-too-few": 0.5,
        "learning-starts-misplaced": 0.2,
        "grad-clip-too-tight": 0.4,
        "obs-constant": 0.3,
        "weight-decay-too-strong": 0.4,
        "policy-loss-sign": 0.2,
        "action-ignored": 0.2,
        "target-tau-extreme": 0.15,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy = run["train/metrics/entropy"]
        known, late = part(entropy, 0.02), median(entropy, 0.67)
        if len(known) < 2 * FEWEST:
            raise TooLittle
        if done(run):
            return None
        highest = float(np.quantile(known, 0.95))
        if not late > highest - self.bound("nats"):
            return None
        return self.found(
            f"The actor's entropy is {late:.3g} nats late in the run, and was "
            f"{highest:.3g} at most.",
            "train/metrics/entropy",
            entropy_late=late,
        )
