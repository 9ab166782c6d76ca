"""VAL041."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import done, median, part, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.diagnosis.rules.value.actor_prefers_low_values import actor_gain
from dressage.runs.view import RunView


class ValuesFitButActionsDoNotMatter(Rule):
    """The critic predicts well, and rates all actions alike.

    Why it hurts
        What can be done makes no difference to what happens: there is nothing to choose.

    Evidence
        A TD error as small beside the rewards as in runs that learn, and an actor whose own
        actions are worth no more to the critic than those of the memory.

    Threshold and source
        An error below 0.25 of the rewards’ deviation, a gain within 0.15 TD errors of none and
        targets within 10 % of the values (our labelled runs: a gain of 0.9 to 2.6 where
        healthy).

    Prescription
        Look at the bounds of the action space and at the scale on which actions arrive in the
        environment.

    Known false alarms
        Runs that have converged; left out. Targets that hardly follow: looked at.

    References
        The cause action-space-degenerate.
    """

    id = "VAL041"
    name = "values-fit-but-actions-do-not-matter"
    family = "value"
    severity = "high"
    families = ("actor-critic",)
    needs = (
        "train/loss/actor",
        "train/metrics/q_mean",
        "train/metrics/td_error_mean",
        "train/metrics/target_drift",
        "train/roll/reward_std",
    )
    thresholds = {
        "error": Threshold(0.25, "our labelled runs, 2026-11-16"),
        "gain": Threshold(0.15, "our labelled runs, 2026-11-16"),
        "drift": Threshold(0.1, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "action-space-degenerate": 0.9,
        "action-range-unnormalised": 0.7,
        "action-ignored": 0.2,
        "actor-saturation": 0.1,
        "action-delay": 0.05,
        "replay-corrupted": 0.1,
        "sac-alpha-too-high": 0.1,
        "policy-loss-sign": 0.05,
        "dead-policy-gradient": 0.3,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        spread = part(run["train/roll/reward_std"])
        deviation = float(np.sqrt(np.mean(spread**2))) if len(spread) else 0.0
        share = median(run["train/metrics/td_error_mean"], 0.6) / max(deviation, 1e-12)
        gain, values = actor_gain(run), size(run["train/metrics/q_mean"], 0.6)
        drift = median(run["train/metrics/target_drift"], 0.6)
        if not share < self.bound("error") or not abs(gain) < self.bound("gain"):
            return None
        if not drift < self.bound("drift") * values or done(run):
            return None
        return self.found(
            f"The TD error is {share:.0%} of the rewards’ deviation, and the actor’s own actions "
            f"are worth {gain:.2g} TD errors more than those of the memory.",
            "train/loss/actor",
            error=share,
            gain=gain,
        )
