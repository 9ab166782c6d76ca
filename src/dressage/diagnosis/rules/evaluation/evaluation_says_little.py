"""EVA006."""

from __future__ import annotations

import math

from dressage.diagnosis.look import FEWEST, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EvaluationSaysLittle(Rule):
    """Evaluations have too few episodes to tell policies apart.

    Why it hurts
        A difference that is smaller than its error is no result, and one seed is none
        either.

    Evidence
        The episodes of an evaluation, and the standard error of their mean beside the rise
        of the return.

    Threshold and source
        Fewer than five episodes, or an error above half of the rise (guess; at least ten).

    Prescription
        Ten or more episodes an evaluation, three to five seeds a claim.

    Known false alarms
        Deterministic tasks.

    References
        Agarwal et al. 2021, “Deep RL at the edge of the statistical precipice”.
    """

    id = "EVA006"
    name = "evaluation-says-little"
    family = "evaluation"
    severity = "low"
    needs = ("val/roll/ep_rew_mean", "val/roll/ep_rew_std", "val/roll/episodes")
    thresholds = {"episodes": Threshold(5.0, "guess")}
    expected = {
        "single-seed-claim": 0.6,
        "reward-noise": 0.1,
        "lr-too-low": 0.25,
        "dead-policy-gradient": 0.2,
        "optimizer-choice": 0.2,
        "optimizer-eps": 0.2,
        "learning-never-starts": 0.2,
        "action-ignored": 0.2,
        "healthy": 0.05,
    }

    def check(self, run: RunView) -> Finding | None:
        count, spread = median(run["val/roll/episodes"]), median(run["val/roll/ep_rew_std"])
        values = part(run["val/roll/ep_rew_mean"])
        if len(values) < FEWEST or not count >= 1 or not spread > 0:
            return None
        error = spread / math.sqrt(count)
        rise = float(values.max() - values.min())
        if not (count < self.bound("episodes") or error > 0.5 * rise > 0):
            return None
        return self.found(
            f"An evaluation has {count:.0f} episodes and an error of {error:.3g}; the rise is "
            f"{rise:.3g}.",
            "val/roll/ep_rew_mean",
            episodes=count,
        )
