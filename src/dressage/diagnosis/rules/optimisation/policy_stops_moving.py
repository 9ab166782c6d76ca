"""OPT038."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import SINGLE_STEP, done, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyStopsMoving(Rule):
    """The policy moved at first, and then no more, without having become good.

    Why it hurts
        It has become certain of something, or lost its gradient or its rate: what comes after
        is not learned from.

    Evidence
        The KL divergence of updates in the first rows against that between a twentieth and
        60 % of the run.

    Threshold and source
        From above 3e-3 to below 1e-3 [GS] and a tenth of its start (guess), where the return
        has not risen.

    Prescription
        Divide the learning rate by ten; an entropy bonus of 0.01; look at the schedule and at
        the signs of reward and loss.

    Known false alarms
        A run that has converged, which is why the return is looked at.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "OPT038"
    name = "policy-stops-moving"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/kl_divergence",)
    thresholds = {"kl": Threshold(1e-3, "GS"), "share": Threshold(0.1, "guess")}
    elsewhere = 0.05
    expected = {
        "lr-too-high": 0.7,
        "schedule-restarts": 0.5,
        "lr-schedule-ends-early": 0.8,
        "policy-loss-sign": 0.6,
        "reward-sign-flipped": 0.5,
        "entropy-collapse": 0.4,
        "bad-initialisation": 0.2,
        "clip-range-too-wide": 0.2,
        "obs-constant": 0.3,
        "features-frozen": 0.3,
        "reward-uninformative": 0.2,
        "gamma-too-low": 0.3,
        "rollout-too-short": 0.2,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        kl = run["train/metrics/kl_divergence"]
        first, middle = float(np.max(part(kl)[:3], initial=0.0)), median(kl, 0.05, 0.6)
        if run.algo in SINGLE_STEP or done(run) or not first > 3.0 * self.bound("kl"):
            return None
        if not (middle < self.bound("kl") and middle < self.bound("share") * first):
            return None
        return self.found(
            f"The KL divergence of an update is {first:.2g} in the first rows and {middle:.2g} "
            "after.",
            "train/metrics/kl_divergence",
            kl_first=first,
            kl_median=middle,
        )
