"""VAL034."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesFitButOverestimate(Rule):
    """The values agree with their targets and not with the returns.

    Why it hurts
        They are right about a world that goes on where the task ends.

    Evidence
        A small TD error beside values that are far larger than the returns that follow, late in
        the run.

    Threshold and source
        A TD error below 1.5 % of the values and a gap above 40 % of them (our labelled runs:
        0.2 to 0.5 % where ends are lost, 5 % and more with other overestimates).

    Prescription
        Store the end of the task, and bootstrap over time limits alone.

    Known false alarms
        Tasks without an end whose policy has just become worse.

    References
        RLMutation, missing terminal state; keras-rl issue 298.
    """

    id = "VAL034"
    name = "values-fit-but-overestimate"
    family = "value"
    severity = "high"
    families = ("value-based",)
    needs = (
        "train/metrics/q_gap",
        "train/metrics/q_mean",
        "train/metrics/td_error_mean",
        "train/roll/truncated_share",
    )
    thresholds = {
        "error": Threshold(0.015, "our labelled runs, 2026-11-16"),
        "gap": Threshold(0.4, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.005
    expected = {
        "terminal-not-stored": 0.9,
        "autoreset-leak": 0.6,
        "q-divergence": 0.1,
        "obs-stale": 0.1,
        "shape-broadcast": 0.05,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        gap = median(run["train/metrics/q_gap"], 0.75)
        values = median(run["train/metrics/q_mean"], 0.75)
        error = median(run["train/metrics/td_error_mean"], 0.75)
        cut = median(run["train/roll/truncated_share"], 0.5)
        if median(run["train/hp/epsilon"], 0.75) > 0.15:  # values are those of choosing well
            return None
        larger = abs(values) > abs(values - gap)
        if not (larger and abs(gap) > self.bound("gap") * abs(values)) or cut > 0.5:
            return None
        if not error < self.bound("error") * abs(values):
            return None
        return self.found(
            f"Values of {values:.3g} miss their targets by {error:.2g} and the returns that "
            f"follow by {gap:.3g}.",
            "train/metrics/q_gap",
            error=error,
            q_gap=gap,
        )
