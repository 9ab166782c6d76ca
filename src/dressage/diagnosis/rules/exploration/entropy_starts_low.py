"""EXP004."""

from __future__ import annotations

import math

from dressage.diagnosis.look import choices, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyStartsLow(Rule):
    """The policy is certain before it has learned anything.

    Why it hurts
        It does not try the actions it would have to compare.

    Evidence
        The entropy of the first rows against that of equal chances.

    Threshold and source
        Below 80 % of ln n for n choices (guess; a head scaled by 0.01 starts at 99 %); where n
        is not known, it is taken to be two.

    Prescription
        Orthogonal weights with a gain of 0.01 for the policy’s last layer.

    Known false alarms
        Runs that go on from trained weights; masks that leave few choices.

    References
        “The 37 implementation details of PPO”, detail 2; RLExplorer.
    """

    id = "EXP004"
    name = "entropy-starts-low"
    family = "exploration"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/entropy",)
    thresholds = {"share": Threshold(0.8, "guess")}
    expected = {
        "bad-initialisation": 0.85,
        "lr-too-high": 0.45,
        "obs-unnormalised": 0.2,
        "loaded-model-ignored": 0.02,
        "output-activation": 0.1,
        "too-many-epochs": 0.1,
        "rollout-too-short": 0.4,
        "healthy": 0.01,
    }

    def can_see(self, run: RunView) -> bool:
        chosen = choices(run) is not None or bool(run["train/roll/action_share_max"])
        return super().can_see(run) and chosen

    def check(self, run: RunView) -> Finding | None:
        actions = choices(run) or 2  # there are at least two where it is not known
        known = start(run["train/metrics/entropy"])
        if actions < 2 or not known < self.bound("share") * math.log(actions):
            return None
        if run.restarts or run["train/metrics/entropy"].env_steps[0] > 0.02 * run.env_steps > 0:
            return None  # the first row is of a policy that has learned
        return self.found(
            f"The policy begins with {known:.3g} nats; equal chances of {actions} actions are "
            f"{math.log(actions):.3g}.",
            "train/metrics/entropy",
            entropy_start=known,
        )
