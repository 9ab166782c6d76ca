"""VAL014."""

from __future__ import annotations

from dressage.diagnosis.look import growth, learned, median, returns, value_loss
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ErrorsGrow(Rule):
    """The error of the values grows by orders of magnitude.

    Why it hurts
        They move away from what they are trained on: each target is larger than the last.

    Evidence
        TD error, or the loss of the values where that is all there is, late against the
        second tenth of the run.

    Threshold and source
        Ten times for the error, a hundred times for a squared loss (guess; 4.9 to 2.6e6 in
        ReAgent issue 189).

    Prescription
        A lower learning rate, slower targets, rewards near one, a stored end of the task.

    Known false alarms
        Returns that grow by as much: the error follows their scale.

    References
        ReAgent issue 189.
    """

    id = "VAL014"
    name = "errors-grow"
    family = "value"
    severity = "critical"
    families = ("value-based", "actor-critic")
    either = ("train/metrics/td_error_mean", "train/loss/td", "train/loss/critic")
    thresholds = {"error": Threshold(10.0, "guess"), "loss": Threshold(100.0, "guess")}
    expected = {
        "q-divergence": 0.8,
        "lr-too-high": 0.55,
        "terminal-not-stored": 0.5,
        "target-updates-too-often": 0.5,
        "sac-alpha-explodes": 0.8,
        "updates-too-many": 0.35,
        "td-target-wrong": 0.4,
        "gamma-too-high": 0.5,
        "replay-corrupted": 0.4,
        "discount-misapplied": 0.4,
        "td3-smoothing-off": 0.2,
        "target-tau-extreme": 0.4,
        "reward-scale-too-large": 0.2,
        "offline-overestimation": 0.7,
        "policy-loss-sign": 0.2,
        "actor-saturation": 0.25,
        "buffer-too-small": 0.3,
        "optimizer-state-corrupted": 0.2,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        error = run["train/metrics/td_error_mean"]
        name, loss = ("train/metrics/td_error_mean", error) if error else value_loss(run)
        bound = self.bound("error" if error else "loss")
        times = growth(loss, (0.08, 0.25), (0.85, 1.0))
        grown = growth(returns(run), (0.0, 0.25), (0.85, 1.0))
        if not times > bound * max(1.0, grown if learned(run) and grown == grown else 1.0):
            return None
        return self.found(
            f"{run.own_name(name)} grew {times:.3g}-fold over the run, to "
            f"{median(loss, 0.85):.3g}.",
            name,
            times=times,
        )
