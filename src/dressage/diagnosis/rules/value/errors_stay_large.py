"""VAL035."""

from __future__ import annotations

from dressage.diagnosis.look import done, median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ErrorsStayLarge(Rule):
    """The values have settled, and their errors stay large.

    Why it hurts
        What they are to predict does not follow from what they are given: they learn its mean
        for all states alike.

    Evidence
        The TD error beside the values late in the run, where values and targets no longer
        move.

    Threshold and source
        Above 12 % of values that changed by less than a quarter in the second half, with a
        target network within 5 % (our labelled runs: at most 8 % where healthy).

    Prescription
        Look at whether observations, actions and rewards of the memory belong together, and
        whether the observation shows what the reward depends on.

    Known false alarms
        Values whose mean is near zero; noisy tasks that are learned nevertheless, which are
        left out.

    References
        RLMutation, observations mangled in memory.
    """

    id = "VAL035"
    name = "errors-stay-large"
    family = "value"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = (
        "train/metrics/q_mean",
        "train/metrics/td_error_mean",
        "train/metrics/target_drift",
    )
    thresholds = {
        "error": Threshold(0.12, "our labelled runs, 2026-11-16"),
        "drift": Threshold(0.05, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.05
    expected = {
        "replay-corrupted": 0.7,
        "truncation-as-termination": 0.6,
        "obs-constant": 0.5,
        "reward-noise": 0.5,
        "reward-uninformative": 0.5,
        "partial-observability": 0.3,
        "action-ignored": 0.2,
        "network-too-small": 0.2,
        "gamma-too-low": 0.15,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        values, error = run["train/metrics/q_mean"], run["train/metrics/td_error_mean"]
        level, earlier = size(values, 0.75), size(values, 0.5, 0.75)
        share = median(error, 0.75) / level if level > 0 else 0.0
        drift = median(run["train/metrics/target_drift"], 0.75)
        settled = abs(level - earlier) < 0.25 * level and drift < self.bound("drift") * level
        if not share > self.bound("error") or not settled or done(run):
            return None
        return self.found(
            f"The TD error stays at {share:.0%} of values that have settled at {level:.3g}.",
            "train/metrics/td_error_mean",
            share=share,
        )
