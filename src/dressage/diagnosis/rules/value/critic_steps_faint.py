"""VAL033."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CriticStepsFaint(Rule):
    """The values take far smaller steps than the policy, from the start.

    Why it hurts
        The policy follows values that have not learned anything yet.

    Evidence
        Updates beside weights, of the values and of the policy, in the first fifth of the run.

    Threshold and source
        Below 0.1 of the policy’s (our labelled runs: 0.24 and more where healthy, 0.006 to 0.05
        with a rate of its own that is too low).

    Prescription
        A value_learning_rate of the policy’s or a few times it.

    Known false alarms
        Rewards that are zero throughout: then there is nothing for the values to learn.

    References
        The cause value-lr-mismatch.
    """

    id = "VAL033"
    name = "critic-steps-faint"
    family = "value"
    severity = "high"
    families = ("on-policy", "actor-critic")
    needs = ("train/metrics/update_to_weight/*",)
    thresholds = {"share": Threshold(0.1, "our labelled runs, 2026-11-16")}
    elsewhere = 0.005
    expected = {
        "value-lr-mismatch": 0.95,
        "critic-too-weak": 0.5,
        "output-activation": 0.7,
        "sparse-reward": 0.4,
        "reward-scale-too-small": 0.3,
        "critic-dominates": 0.1,
        "healthy": 0.004,
    }

    def check(self, run: RunView) -> Finding | None:
        before = "train/metrics/update_to_weight/"
        values = run[before + "critic"] or run[before + "value"]
        policy = run[before + "actor"] or run[before + "policy"]
        own, other = part(values, 0.0, 0.2), part(policy, 0.0, 0.2)
        if len(own) < 3 or len(other) < 3:
            return None
        step, beside = float(np.median(own)), float(np.median(other))
        if not 0.0 < step < self.bound("share") * beside:
            return None
        return self.found(
            f"An update moves the values by {step:.2g} of their weights and the policy by "
            f"{beside:.2g}.",
            before + ("critic" if run[before + "critic"] else "value"),
            values=step,
            policy=beside,
        )
