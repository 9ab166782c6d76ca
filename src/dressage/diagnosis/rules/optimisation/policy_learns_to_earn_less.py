"""OPT040."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import (
    FEWEST,
    SINGLE_STEP,
    early_spread,
    falls,
    median,
    part,
    returns,
    start,
)
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class PolicyLearnsToEarnLess(Rule):
    """Updates are healthy, the policy does not become more random, and the return falls.

    Why it hurts
        The optimizer does its work well, in the wrong direction.

    Evidence
        A falling return that ends near the lowest of the run, beside an entropy that falls
        (of a Gaussian: that does not grow), a policy loss that is negative as it should be, and
        a KL divergence in its usual range.

    Threshold and source
        A fall by 0.7 deviations of early episodes to within 6 % of the lowest, at a KL above
        2e-4 that never passed 0.2 in the first rows (our labelled runs, 2026-11-16).

    Prescription
        Look at the signs of the advantage, of the policy loss and of the reward.

    Known false alarms
        Updates that tear the policy away, whose first KL is large, are left out.

    References
        The cause policy-loss-sign.
    """

    id = "OPT040"
    name = "policy-learns-to-earn-less"
    family = "optimisation"
    severity = "critical"
    families = ("on-policy",)
    needs = (
        "train/metrics/entropy",
        "train/metrics/kl_divergence",
        "train/loss/policy",
        "train/roll/ep_rew_mean",
    )
    thresholds = {
        "fall": Threshold(0.7, "our labelled runs, 2026-11-16"),
        "height": Threshold(0.06, "our labelled runs, 2026-11-16"),
        "kl": Threshold(2e-4, "our labelled runs, 2026-11-16"),
        "first": Threshold(0.2, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "policy-loss-sign": 0.85,
        "reward-sign-flipped": 0.3,
        "returns-misaligned": 0.15,
        "reward-misaligned": 0.1,
        "gamma-too-low": 0.1,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        curve, kl = returns(run), run["train/metrics/kl_divergence"]
        values, first = part(curve), part(kl, 0.0, 0.07)
        if len(values) < 4 * FEWEST:
            raise TooLittle
        if not falls(curve, 0.0, 0.7):
            return None
        before, late, spread = start(curve), median(curve, 0.6), early_spread(run)
        lowest, height = float(values.min()), float(np.ptp(values))
        if not before - late > self.bound("fall") * spread:
            return None
        if not late - lowest < self.bound("height") * height:
            return None
        entropy = run["train/metrics/entropy"]
        # The deviation of a Gaussian is slow, and it need not fall for its mean to be learned.
        least = -0.05 if run["train/metrics/action_std"] else 0.05
        surer = start(entropy) - median(entropy, 0.5) > least
        moves = median(kl, 0.02, 0.5) > self.bound("kl")
        torn = float(np.max(first, initial=0.0)) > self.bound("first")
        # After a single step the loss is that of the collecting policy, of either sign.
        gained = run.algo in SINGLE_STEP or median(run["train/loss/policy"], 0.02, 0.5) < 0
        if not (surer and moves and gained) or torn:
            return None
        return self.found(
            f"The return falls from {before:.4g} to {late:.4g}, the lowest being {lowest:.4g}, at "
            f"a KL of {median(kl, 0.02, 0.5):.2g} an update.",
            "train/roll/ep_rew_mean",
            before=before,
            late=late,
        )
