"""OPT041."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class UpdatesMissThePolicy(Rule):
    """Updates move the values and leave the policy exactly as it was, though it is not certain.

    Why it hurts
        What was collected then did not teach the policy anything.

    Evidence
        Rows in which the update of the policy is zero and that of the values is not, while the
        entropy is above a tenth of its highest.

    Threshold and source
        Any such row (arithmetic: a policy with a choice left has a gradient wherever an
        advantage differs from zero).

    Prescription
        Look at the advantages that reach the loss; look for a detach or a mask.

    Known false alarms
        Tasks without any reward yet, with advantages that are zero; policies that are certain,
        which are left out.

    References
        The cause dead-policy-gradient.
    """

    id = "OPT041"
    name = "updates-miss-the-policy"
    family = "optimisation"
    severity = "critical"
    families = ("on-policy",)
    needs = (
        "train/metrics/update_to_weight/policy",
        "train/metrics/update_to_weight/value",
        "train/metrics/entropy",
    )
    thresholds = {"step": Threshold(1e-12, "arithmetic"), "share": Threshold(0.1, "guess")}
    elsewhere = 0.01
    expected = {
        "dead-policy-gradient": 0.7,
        "shape-broadcast": 0.6,
        "reward-uninformative": 0.05,
        "sparse-reward": 0.1,
        "lr-too-high": 0.03,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        policy, value = (
            run[f"train/metrics/update_to_weight/{net}"] for net in ("policy", "value")
        )
        entropy, step = run["train/metrics/entropy"], self.bound("step")
        known = part(entropy)
        if len(known) < 2 * FEWEST:
            raise TooLittle
        if not np.array_equal(policy.env_steps, value.env_steps):
            return None
        random = np.interp(policy.env_steps, entropy.env_steps, entropy.values)
        open_ = random > self.bound("share") * max(float(known.max()), 0.0)
        if run["train/metrics/action_std"]:
            open_ = np.isfinite(random)
        missed = int(((policy.values < step) & (value.values > step) & open_).sum())
        if not missed:
            return None
        return self.found(
            f"The policy does not change at all in {missed} of {len(policy.values)} rows in which "
            "the values do.",
            "train/metrics/update_to_weight/policy",
            rows=missed,
        )
