"""VAL049."""

from __future__ import annotations

from dressage.diagnosis.look import growth
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ErrorsGrewManyTimes(Rule):
    """By the middle of the run the values err many times as much as at first.

    Why it hurts
        Values that feed on their own errors, or targets that grow faster than they are learned.

    Evidence
        The loss of what predicts values, in the middle of the run beside its first tenth.

    Threshold and source
        More than eight times it (our labelled runs, 2026-11-17: one healthy run in thirteen).

    Prescription
        A lower learning rate, a slower target, terminals that are stored.

    Known false alarms
        Rewards that are first found late.

    References
        ReAgent issue 189.
    """

    id = "VAL049"
    name = "errors-grew-many-times"
    family = "value"
    severity = "high"
    stands_in = True
    needs = ("train/loss/td",)
    families = ("value-based",)
    thresholds = {"times": Threshold(8.0, "our labelled runs, 2026-11-17")}
    elsewhere = 0.08
    expected = {
        "q-divergence": 0.71,
        "obs-constant": 0.28,
        "action-delay": 0.23,
        "obs-stale": 0.23,
        "healthy": 0.076,
    }

    def check(self, run: RunView) -> Finding | None:
        times = growth(run["train/loss/td"], (0.0, 0.1), (0.3, 0.6))
        if not times > self.bound("times"):
            return None
        return self.found(
            f"{run.own_name('train/loss/td')} grew {times:.2g} times by the middle of the run.",
            "train/loss/td",
            times=times,
        )
