"""VAL045."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetLagsFarBehind(Rule):
    """The critic fits a target that is many errors away from it.

    Why it hurts
        The target says what the critic said long ago, so rewards are passed back one step in
        all that time.

    Evidence
        The difference between the network’s values and its target’s, beside the TD error.

    Threshold and source
        More than 20 times it in the median (our labelled runs: at most 11 where healthy, 36 and
        more with a target that hardly follows).

    Prescription
        tau 0.005, or a copy every 250 to 10,000 env steps.

    Known false alarms
        Errors of almost nothing: those of a task in which all is known.

    References
        Lillicrap et al. 2016.
    """

    id = "VAL045"
    name = "target-lags-far-behind"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/target_drift", "train/metrics/td_error_mean", "train/metrics/q_mean")
    thresholds = {"times": Threshold(20.0, "our labelled runs, 2026-11-16")}
    elsewhere = 0.005
    expected = {
        "target-tau-extreme": 0.9,
        "target-updates-too-rarely": 0.5,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        drift, error = (
            median(run[f"train/metrics/{name}"], 0.3) for name in ("target_drift", "td_error_mean")
        )
        values = abs(median(run["train/metrics/q_mean"], 0.3))
        if not drift > self.bound("times") * error > 0.0 or not drift > 0.05 * values:
            return None
        return self.found(
            f"The target differs by {drift:.3g}, which is {drift / error:.0f} TD errors.",
            "train/metrics/target_drift",
            drift=drift,
            error=error,
        )
