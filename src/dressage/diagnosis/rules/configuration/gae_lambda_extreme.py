"""CFG007."""

from __future__ import annotations

from dressage.diagnosis.look import done, episode_length, number
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class GaeLambdaExtreme(Rule):
    """gae_lambda is at one of its ends.

    Why it hurts
        At 0 advantages are all bias, at 1 all noise.

    Evidence
        gae_lambda.

    Threshold and source
        Below 0.5; or 1, RLlib’s default, with episodes of over 50 steps in a run that has not
        learned (guess; 0.9 to 0.98 is usual).

    Prescription
        gae_lambda 0.95.

    Known false alarms
        A2C, whose classic form has 1.

    References
        Schulman et al. 2016.
    """

    id = "CFG007"
    name = "gae-lambda-extreme"
    family = "configuration"
    severity = "medium"
    families = ("on-policy",)
    settings = ("gae_lambda",)
    thresholds = {"low": Threshold(0.5, "guess")}
    elsewhere = 0.0005
    expected = {
        "gae-lambda-extreme": 0.95,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        value = number(run, "gae_lambda")
        long = episode_length(run, 0.0)
        whole = value >= 1.0 and run.algo == "ppo" and not long < 50 and not done(run)
        if not (value < self.bound("low") or whole):
            return None
        return self.found(f"gae_lambda is {value:g}; 0.9 to 0.98 is usual.", gae_lambda=value)
