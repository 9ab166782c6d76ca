"""VAL048."""

from __future__ import annotations

from dressage.diagnosis.look import predicted, reward_a_step, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesDwarfASingleReward(Rule):
    """In the middle of the run values are far beyond what a step pays.

    Why it hurts
        No discount below 0.99 makes that of what is logged: rewards are scaled on their way to the
        agent, or values feed on themselves.

    Evidence
        The predicted value, or minus the actor's loss, beside the mean size of a reward.

    Threshold and source
        Above 170 times it (our labelled runs, 2026-11-17: one healthy run in eleven).

    Prescription
        Log what the agent learns from; scale rewards to about one.

    Known false alarms
        Discounts very near to one.

    References
        AJ: targets beyond ten.
    """

    id = "VAL048"
    name = "values-dwarf-a-single-reward"
    family = "value"
    severity = "high"
    stands_in = True
    either = ("train/metrics/q_mean", "train/loss/actor")
    families = ("actor-critic",)
    thresholds = {"times": Threshold(170.0, "our labelled runs, 2026-11-17")}
    elsewhere = 0.05
    expected = {
        "reward-scale-too-small": 0.42,
        "reward-scale-too-large": 0.28,
        "healthy": 0.091,
    }

    def check(self, run: RunView) -> Finding | None:
        values, reward = size(predicted(run), 0.3, 0.6), reward_a_step(run)
        if not values > self.bound("times") * reward:
            return None
        return self.found(
            f"Values are {values:.3g} where a step pays {reward:.2g}.",
            "train/loss/actor",
            values=values,
            reward=reward,
        )
