"""EXP011."""

from __future__ import annotations

from dressage.diagnosis.look import done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ActionsAtTheirBounds(Rule):
    """Most actions lie at a bound, and the return has not risen.

    Why it hurts
        Beyond a bound the action no longer changes, and its gradient vanishes.

    Evidence
        The share of action entries at or beyond a bound, after the first tenth.

    Threshold and source
        Above 0.7 (guess).

    Prescription
        Normalised observations, a lower learning rate, actions in [-1, 1]; a smaller
        deviation.

    Known false alarms
        Tasks solved by full thrust; the return is looked at.

    References
        “Debugging RL, without the agonizing pain”; SB3’s tips on action spaces.
    """

    id = "EXP011"
    name = "actions-at-their-bounds"
    family = "exploration"
    severity = "high"
    families = ("on-policy", "actor-critic")
    needs = ("train/roll/action_saturation",)
    thresholds = {"share": Threshold(0.7, "guess")}
    expected = {
        "actor-saturation": 0.9,
        "action-saturation": 0.9,
        "action-space-degenerate": 0.5,
        "obs-unnormalised": 0.4,
        "lr-too-high": 0.45,
        "bad-initialisation": 0.4,
        "policy-loss-sign": 0.5,
        "action-std-explosion": 0.4,
        "action-noise-too-large": 0.5,
        "reward-sign-flipped": 0.15,
        "q-divergence": 0.4,
        "reward-scale-too-large": 0.3,
        "sac-alpha-too-low": 0.25,
        "sac-alpha-explodes": 0.2,
        "td-target-wrong": 0.4,
        "entropy-bonus-too-high": 0.3,
        "terminal-not-stored": 0.1,
        "discount-misapplied": 0.1,
        "replay-corrupted": 0.3,
        "target-tau-extreme": 0.2,
        "no-action-noise": 0.35,
        "td3-smoothing-off": 0.15,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        share = median(run["train/roll/action_saturation"], 0.1)
        if not share > self.bound("share") or done(run):
            return None
        return self.found(
            f"{share:.0%} of the action entries are at a bound, and the return has not risen.",
            "train/roll/action_saturation",
            share=share,
        )
