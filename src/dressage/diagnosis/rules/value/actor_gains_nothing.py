"""VAL032."""

from __future__ import annotations

from dressage.diagnosis.look import done
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.diagnosis.rules.value.actor_prefers_low_values import actor_gain
from dressage.runs.view import RunView


class ActorGainsNothing(Rule):
    """The critic rates the actor’s actions no higher than those of the memory.

    Why it hurts
        The critic does not tell actions apart, or the actor cannot follow it: nothing is
        improved upon.

    Evidence
        The critic’s value of the actor’s own actions (the actor’s loss with its sign changed,
        less SAC’s entropy) beside that of the actions in the memory, over the TD error.

    Threshold and source
        Between 0.4 TD errors lower and 0.2 higher, in a run that has not learned (our labelled
        runs: 0.9 to 2.6 higher where healthy).

    Prescription
        Look at what the memory holds, at how the targets follow, at whether actions are at
        their bounds.

    Known false alarms
        Runs that have converged, whose memory holds the actor’s own actions; left out.

    References
        The cause replay-corrupted.
    """

    id = "VAL032"
    name = "actor-gains-nothing"
    family = "value"
    severity = "medium"
    families = ("actor-critic",)
    needs = ("train/loss/actor", "train/metrics/q_mean", "train/metrics/td_error_mean")
    thresholds = {
        "low": Threshold(-0.4, "our labelled runs, 2026-11-16"),
        "high": Threshold(0.2, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.2
    expected = {
        "replay-corrupted": 0.8,
        "obs-stale": 0.8,
        "actor-saturation": 0.9,
        "target-tau-extreme": 0.5,
        "value-lr-mismatch": 0.9,
        "updates-starved": 0.9,
        "updates-too-few": 0.8,
        "lr-too-low": 0.9,
        "optimizer-eps": 0.9,
        "optimizer-choice": 0.9,
        "learning-starts-misplaced": 0.7,
        "sac-alpha-too-high": 0.9,
        "sac-alpha-explodes": 0.9,
        "reward-scale-too-small": 0.9,
        "reward-scale-vs-alpha": 0.9,
        "action-ignored": 0.8,
        "reward-uninformative": 0.7,
        "obs-constant": 0.6,
        "action-space-degenerate": 0.7,
        "truncation-as-termination": 0.6,
        "network-too-small": 0.4,
        "weight-decay-too-strong": 0.6,
        "output-activation": 0.8,
        "shape-broadcast": 0.5,
        "batch-too-small": 0.4,
        "gamma-too-low": 0.3,
        "discount-misapplied": 0.4,
        "policy-loss-sign": 0.05,
        "action-noise-too-large": 0.05,
        "reward-sign-flipped": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        gain = actor_gain(run)
        if not self.bound("low") <= gain < self.bound("high") or done(run):
            return None
        return self.found(
            f"The actor’s own actions are worth {gain:.2g} TD errors more to its critic than "
            "those of the memory.",
            "train/loss/actor",
            td_errors=gain,
        )
