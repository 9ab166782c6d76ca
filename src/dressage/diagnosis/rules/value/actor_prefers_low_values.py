"""VAL031."""

from __future__ import annotations

import math

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


def actor_gain(run: RunView) -> float:
    """By how many TD errors the critic rates the actor's own actions above those of the memory,
    after the first third: the actor's loss with its sign changed, less SAC's entropy."""
    error = median(run["train/metrics/td_error_mean"], 0.3)
    own = -median(run["train/loss/actor"], 0.3)
    if run["train/metrics/alpha"]:
        entropy = median(run["train/metrics/entropy"], 0.3)
        own -= median(run["train/metrics/alpha"], 0.3) * entropy
        if run["train/metrics/critic_disagreement"]:  # the lowest critic counts for SAC's actor
            own += 0.5 * median(run["train/metrics/critic_disagreement"], 0.3)
    return (own - median(run["train/metrics/q_mean"], 0.3)) / error if error > 0 else math.nan


class ActorPrefersLowValues(Rule):
    """The actor picks what its critic rates below the actions of the memory.

    Why it hurts
        An actor climbs its critic; one that goes down unlearns on purpose.

    Evidence
        The critic’s value of the actor’s own actions (the actor’s loss with its sign changed,
        less SAC’s entropy) beside that of the actions in the memory, over the TD error.

    Threshold and source
        Lower by 0.4 TD errors (our labelled runs: 0.9 to 2.6 higher where healthy, 1.5 lower
        with a loss of the wrong sign).

    Prescription
        Look at the sign of the actor’s loss: it is minus the critic’s value.

    Known false alarms
        Steps so large that the actor overshoots.

    References
        RLMutation, wrong sign of the policy loss.
    """

    id = "VAL031"
    name = "actor-prefers-low-values"
    family = "value"
    severity = "critical"
    families = ("actor-critic",)
    needs = ("train/loss/actor", "train/metrics/q_mean", "train/metrics/td_error_mean")
    thresholds = {"gain": Threshold(-0.4, "our labelled runs, 2026-11-16")}
    elsewhere = 0.01
    expected = {
        "policy-loss-sign": 0.95,
        "lr-too-high": 0.5,
        "actor-saturation": 0.15,
        "replay-corrupted": 0.1,
        "action-saturation": 0.1,
        "obs-unnormalised": 0.1,
        "reward-scale-vs-alpha": 0.1,
        "network-too-small": 0.1,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        gain = actor_gain(run)
        if not gain < self.bound("gain"):
            return None
        return self.found(
            f"The actor’s own actions are worth {-gain:.2g} TD errors less to its critic than "
            "those of the memory.",
            "train/loss/actor",
            td_errors=gain,
        )
