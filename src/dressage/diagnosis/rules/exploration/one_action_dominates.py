"""EXP007."""

from __future__ import annotations

from dressage.diagnosis.look import done, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class OneActionDominates(Rule):
    """One action is taken nearly always, and the return has not risen.

    Why it hurts
        What is never tried is never learned.

    Evidence
        The largest share of one action among those taken, late in the run.

    Threshold and source
        Above 90 % (guess; below 80 % while learning [RX]).

    Prescription
        More exploration: an entropy bonus, a slower epsilon; look at the sign of the loss.

    Known false alarms
        Tasks in which one action is right; the return is looked at.

    References
        RLExplorer.
    """

    id = "EXP007"
    name = "one-action-dominates"
    family = "exploration"
    severity = "high"
    families = ("on-policy", "value-based")
    needs = ("train/roll/action_share_max",)
    thresholds = {"share": Threshold(0.9, "guess")}
    expected = {
        "no-exploration": 0.6,
        "entropy-collapse": 0.8,
        "policy-loss-sign": 0.5,
        "bad-initialisation": 0.4,
        "lr-too-high": 0.55,
        "td-target-wrong": 0.3,
        "reward-sign-flipped": 0.3,
        "obs-constant": 0.3,
        "q-divergence": 0.25,
        "obs-unnormalised": 0.2,
        "epsilon-decays-too-fast": 0.25,
        "advantage-normalisation": 0.3,
        "replay-corrupted": 0.2,
        "gamma-too-low": 0.1,
        "reward-uninformative": 0.15,
        "shape-broadcast": 0.2,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        share = median(run["train/roll/action_share_max"], 0.6)
        if not share > self.bound("share") or done(run):
            return None
        return self.found(
            f"One action is {share:.0%} of those taken late in the run, and the return has "
            "not risen.",
            "train/roll/action_share_max",
            share=share,
        )
