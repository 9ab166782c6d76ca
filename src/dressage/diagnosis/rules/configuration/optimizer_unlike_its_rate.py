"""CFG012."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class OptimizerUnlikeItsRate(Rule):
    """Plain gradient descent runs at a rate made for Adam.

    Why it hurts
        Adam’s step is the rate itself, that of SGD the rate times the gradient: hundreds of
        times smaller.

    Evidence
        The optimizer and its learning rate.

    Threshold and source
        SGD below 1e-2 (guess).

    Prescription
        Adam, or a rate a hundred times as large.

    Known false alarms
        Losses with very large gradients.

    References
        RLMutation, policy optimizer change.
    """

    id = "CFG012"
    name = "optimizer-unlike-its-rate"
    family = "configuration"
    severity = "high"
    settings = ("optimizer",)
    either = ("learning_rate", "train/hp/lr")
    thresholds = {"rate": Threshold(0.01, "guess")}
    elsewhere = 0.0005
    expected = {
        "optimizer-choice": 0.95,
        "lr-too-low": 0.03,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        name, rate = (
            str(run.config["optimizer"]).lower(),
            in_force(run, "learning_rate", "train/hp/lr"),
        )
        if "sgd" not in name or not rate < self.bound("rate"):
            return None
        return self.found(f"The optimizer is {name} with a rate of {rate:g}.", learning_rate=rate)
