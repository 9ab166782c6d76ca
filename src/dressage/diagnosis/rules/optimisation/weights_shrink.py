"""OPT016."""

from __future__ import annotations

from dressage.diagnosis.look import end, members, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsShrink(Rule):
    """The weights shrink during training.

    Why it hurts
        Networks that are pulled towards zero forget, and their policy becomes uniform.

    Evidence
        The norm of the weights of each network, start against end.

    Threshold and source
        A fall by over 20 % (guess; weights grow or stay in healthy runs of ours).

    Prescription
        weight_decay 0, or at most 1e-4.

    Known false alarms
        Resets of networks in mid-run.

    References
        the cause weight-decay-too-strong.
    """

    id = "OPT016"
    name = "weights-shrink"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/weight_norm/*",)
    thresholds = {"share": Threshold(0.8, "guess")}
    elsewhere = 0.01
    expected = {
        "weight-decay-too-strong": 0.95,
        "bad-initialisation": 0.2,
        "optimizer-state-corrupted": 0.05,
        "loaded-model-ignored": 0.1,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        fallen = {
            net: end(series) / start(series)
            for net, series in members(run, "train/metrics/weight_norm/*").items()
            if net != "alpha" and start(series) > 0
        }
        net, share = min(fallen.items(), key=lambda item: item[1], default=("", 1.0))
        if not share < self.bound("share"):
            return None
        return self.found(
            f"The weights of {net} shrank to {share:.0%} of their norm at the start.",
            f"train/metrics/weight_norm/{net}",
            share=share,
        )
