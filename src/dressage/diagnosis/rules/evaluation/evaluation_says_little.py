"""EVA006."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, median, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EvaluationSaysLittle(Rule):
    """Evaluations have too few episodes to tell policies apart.

    Why it hurts
        A difference that is smaller than its error is no result, and one seed is none
        either.

    Evidence
        The episodes of an evaluation.

    Threshold and source
        Fewer than three (guess; at least ten).

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
    needs = ("val/roll/ep_rew_mean", "val/roll/episodes")
    thresholds = {"episodes": Threshold(3.0, "guess")}
    elsewhere = 0.01
    expected = {
        "single-seed-claim": 0.6,
        "healthy": 0.05,
    }

    def check(self, run: RunView) -> Finding | None:
        count = median(run["val/roll/episodes"])
        values = part(run["val/roll/ep_rew_mean"])
        if len(values) < FEWEST:
            raise TooLittle
        if not 1 <= count < self.bound("episodes"):
            return None
        return self.found(
            f"An evaluation has {count:.0f} episodes; at least ten tell policies apart.",
            "val/roll/ep_rew_mean",
            episodes=count,
        )
