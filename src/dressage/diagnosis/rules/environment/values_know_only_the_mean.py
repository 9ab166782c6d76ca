"""ENV031."""

from __future__ import annotations

from dressage.diagnosis.look import done, median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesKnowOnlyTheMean(Rule):
    """Values are right on average and tell no state from another.

    Why it hurts
        The value function has learned all that it can: what it sees says nothing of what follows.

    Evidence
        The explained variance, beside the gap between the mean value and the mean target.

    Threshold and source
        Less than 10 % explained, with a gap below 0.2 deviations of the targets (our labelled runs,
        2026-11-16: 0.05 with observations that are constant, stale or incomplete and with targets
        of other steps; above 0.5 where the value function learns too slowly).

    Prescription
        Look at what the environment returns as observation, and whether rewards and returns belong
        to the same steps.

    Known false alarms
        Tasks whose states are all worth the same.

    References
        The causes obs-constant, obs-stale, returns-misaligned.
    """

    id = "ENV031"
    name = "values-know-only-the-mean"
    family = "environment"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance", "train/roll/value_mean", "train/roll/return_mean")
    thresholds = {
        "explained_variance": Threshold(0.1, "our labelled runs, 2026-11-16"),
        "gap": Threshold(0.2, "our labelled runs, 2026-11-16"),
        "spread": Threshold(0.05, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.02
    expected = {
        "obs-constant": 0.95,
        "partial-observability": 0.6,
        "obs-stale": 0.7,
        "returns-misaligned": 0.8,
        "reward-uninformative": 0.9,
        "shape-broadcast": 0.4,
        "obs-unnormalised": 0.3,
        "reward-noise": 0.85,
        "action-delay": 0.1,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        explained = median(run["train/metrics/explained_variance"], 0.4)
        targets, spread = run["train/roll/return_mean"], median(run["train/roll/return_std"], 0.4)
        gap = abs(median(run["train/roll/value_mean"], 0.4) - median(targets, 0.4))
        if not explained < self.bound("explained_variance") or not gap < self.bound("gap") * spread:
            return None
        if done(run) or not spread > self.bound("spread") * size(targets, 0.4):
            return None  # where all returns are the same there is nothing to explain
        return self.found(
            f"Values are {gap / spread:.2g} deviations from their targets on average, and explain "
            f"{explained:.1%} of them.",
            "train/metrics/explained_variance",
            explained_variance=explained,
            gap=gap,
        )
