"""VAL054."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnsDoNotFollowRewards(Rule):
    """A return is not its reward and the discounted return of the next row.

    Why it hurts
        Values and advantages are learned from numbers that belong to other steps, or to none.

    Evidence
        How far returns are from reward + gamma ((1 - lambda) value + lambda return) of the next
        row, beside the size of rewards.

    Threshold and source
        Above 0.05; it is 0 but for rounding where returns are what they should be (by
        construction).

    Prescription
        Compare prepare() with the recursion of generalised advantage estimation on ten rows: the
        order of the loop, rows that are shifted, a broadcast.

    Known false alarms
        An algorithm of your own whose returns are of another kind.

    References
        Schulman et al. 2016 (arXiv 1506.02438), equation 16; the metric
        train/metrics/returns_error.
    """

    id = "VAL054"
    name = "returns-do-not-follow-rewards"
    family = "value"
    severity = "critical"
    needs = ("train/metrics/returns_error",)
    families = ("on-policy",)
    thresholds = {"error": Threshold(0.05, "by construction")}
    elsewhere = 0.001
    proof = True
    expected = {
        "returns-misaligned": 0.9,
        "shape-broadcast": 0.4,
        "discount-misapplied": 0.3,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        error = median(run["train/metrics/returns_error"])
        if not error > self.bound("error"):
            return None
        return self.found(
            f"Returns are off by {error:.2g} times the size of rewards; 0 is right.",
            "train/metrics/returns_error",
            error=error,
        )
