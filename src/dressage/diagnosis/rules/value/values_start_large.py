"""VAL022."""

from __future__ import annotations

import math

from dressage.diagnosis.look import part, size, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesStartLarge(Rule):
    """The untrained values are far larger than the rewards.

    Why it hurts
        What is learned must first undo them, and until then the policy follows noise.

    Evidence
        The predicted values and TD errors of the first rows over the size of the reward a
        step.

    Threshold and source
        More than 15 times the reward, and no ten times more later (guess; well below one with
        usual initial weights).

    Prescription
        Usual initial weights; inputs on a scale near one.

    Known false alarms
        Runs that go on from trained weights.

    References
        RLExplorer looks at initial weights too.
    """

    id = "VAL022"
    name = "values-start-large"
    family = "value"
    severity = "high"
    needs = ("train/roll/reward_std", "train/roll/reward_mean")
    either = ("train/metrics/q_max", "train/roll/value_mean")
    thresholds = {"times": Threshold(15.0, "guess")}
    elsewhere = 0.03
    expected = {
        "bad-initialisation": 0.85,
        "obs-unnormalised": 0.6,
        "lr-too-high": 0.35,
        "q-divergence": 0.25,
        "reward-scale-too-small": 0.25,
        "image-scaling": 0.4,
        "terminal-not-stored": 0.1,
        "updates-too-many": 0.3,
        "learning-starts-misplaced": 0.02,
        "sac-alpha-too-high": 0.3,
        "sac-alpha-explodes": 0.1,
        "reward-scale-vs-alpha": 0.1,
        "actor-saturation": 0.35,
        "healthy": 0.01,
        "target-updates-too-often": 0.5,
    }

    def check(self, run: RunView) -> Finding | None:
        reward = max(start(run["train/roll/reward_std"]), abs(start(run["train/roll/reward_mean"])))
        first = run["train/metrics/q_max"] or run["train/roll/value_mean"]
        known = part(first)
        level = abs(float(known[0])) if len(known) else math.nan
        if run.restarts or not (reward > 0 and level > self.bound("times") * reward):
            return None
        if size(first, 0.5) > 10.0 * level:  # then they grow by themselves, and did from the first
            return None
        return self.found(
            f"The first predictions reach {level:.3g} beside rewards of {reward:.3g}.",
            "train/metrics/q_max",
            predicted=level,
            reward=reward,
        )
