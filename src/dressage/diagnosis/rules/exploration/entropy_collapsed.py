"""EXP001."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyCollapsed(Rule):
    """The policy became certain without becoming good.

    Why it hurts
        A certain policy no longer tries anything, so it cannot find what it lacks.

    Evidence
        The entropy of the policy at the start and at the end, and whether the return rose.

    Threshold and source
        Below 10 % of its start [RD] while the return has not risen; for choices, below 0.02 nats
        (guess), since the first row may come after the collapse; for continuous actions, a fall by
        more than 2 nats a dimension (guess).

    Prescription
        An entropy bonus of 0.001 to 0.01, a lower learning rate, or more environments.

    Known false alarms
        A falling entropy with a rising return is convergence, which is why the return is looked at.

    References
        rldoctor; “Debugging RL, without the agonizing pain”.
    """

    id = "EXP001"
    name = "entropy-collapsed"
    family = "exploration"
    severity = "critical"
    needs = ("train/metrics/entropy",)
    families = ("on-policy",)
    thresholds = {
        "share": Threshold(0.1, "RD"),
        "nats": Threshold(2.0, "guess"),
        "certain": Threshold(0.02, "guess"),
    }
    expected = {
        "entropy-collapse": 0.95,
        "lr-too-high": 0.5,
        "policy-loss-sign": 0.6,
        "reward-sign-flipped": 0.1,
        "advantage-normalisation": 0.4,
        "reward-scale-too-large": 0.2,
        "bad-initialisation": 0.4,
        "healthy": 0.01,
        "shape-broadcast": 0.2,
        "returns-misaligned": 0.2,
        "td-target-wrong": 0.05,
        "no-exploration": 0.05,
        "grad-clip-missing": 0.2,
        "too-many-epochs": 0.4,
        "rollout-too-short": 0.6,
        "obs-unnormalised": 0.15,
        "gamma-too-low": 0.15,
        "obs-stale": 0.1,
        "critic-too-weak": 0.1,
        "gamma-too-high": 0.15,
        "optimizer-state-corrupted": 0.2,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy = run["train/metrics/entropy"]
        first, last = part(entropy, 0.0, 0.05), median(entropy, 0.8)
        if not len(first) or done(run):
            return None
        # in a short log it may be gone after the first row
        start = float(max(first[0], np.median(first)))
        gone = last < self.thresholds["share"].value * start if start > 0 else False
        certain = last < self.bound("certain") and not run["train/metrics/action_std"]
        if not gone and not certain and not start - last > self.thresholds["nats"].value:
            return None
        fell = f"fell from {start:.3g} to {last:.3g}" if last < 0.9 * start else f"is {last:.3g}"
        return self.found(
            f"The policy's entropy {fell} nats, and the return has not risen with it.",
            "train/metrics/entropy",
            entropy_start=start,
            entropy_end=last,
        )
