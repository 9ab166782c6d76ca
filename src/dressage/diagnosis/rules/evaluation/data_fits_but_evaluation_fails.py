"""EVA007."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, like, part, returns, size
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class DataFitsButEvaluationFails(Rule):
    """The data is fitted well, and the policy fails where it acts.

    Why it hurts
        What is right on the data is wrong where the policy goes: it drifts to states the
        data lacks, or sees inputs on another scale.

    Evidence
        The loss on the data (imitation’s bc/loss or neglogp, an actor loss) beside the
        evaluated return, which stays low.

    Threshold and source
        A loss fallen to a fifth of its start while the return gains less than a tenth of
        its size, or falls (guess).

    Prescription
        More and more varied demonstrations, DAgger; the scaler of the data in the
        evaluation too.

    Known false alarms
        Experts that are no better than chance.

    References
        Ross et al. 2011; imitation’s documentation.
    """

    id = "EVA007"
    name = "data-fits-but-evaluation-fails"
    family = "evaluation"
    severity = "high"
    families = ("offline", "imitation")
    thresholds = {"share": Threshold(0.2, "guess")}
    elsewhere = 0.01
    expected = {
        "bc-covariate-shift": 0.85,
        "dataset-scale-mismatch": 0.8,
        "dagger-beta-stuck": 0.5,
        "cql-weight-misplaced": 0.1,
        "dataset-terminals-wrong": 0.1,
        "offline-overestimation": 0.2,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        loss = like(run, "neglogp", "bc/loss", "bc_loss", "actor_loss", "policy_loss", "loss")
        return super().can_see(run) and bool(loss)

    def check(self, run: RunView) -> Finding | None:
        loss = like(
            run,
            "neglogp",
            "bc/loss",
            "bc_loss",
            "actor_loss",
            "policy_loss",
            "loss",
            "imitator_loss",
        )
        earned = (
            run["val/roll/ep_rew_mean"] or like(run, "environment", "return_mean") or returns(run)
        )
        first, last = size(loss, 0.0, 0.25), size(loss, 0.8)
        values = part(earned)
        if len(values) < FEWEST:
            raise TooLittle
        if not last < self.bound("share") * first:
            return None
        gain = float(np.median(values[-3:]) - values[0])
        if gain > 0.1 * max(abs(float(values[0])), 1e-9):
            return None
        return self.found(
            f"The loss on the data fell from {first:.3g} to {last:.3g}; evaluations gained "
            f"{gain:.3g}.",
            "val/roll/ep_rew_mean",
            gain=gain,
        )
