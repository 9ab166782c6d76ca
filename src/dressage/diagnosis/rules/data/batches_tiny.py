"""DAT007."""

from __future__ import annotations

from dressage.diagnosis.look import counts
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class BatchesTiny(Rule):
    """A batch is only a few transitions.

    Why it hurts
        Its gradient is mostly noise.

    Evidence
        The batch size, as configured or as the counters of the log tell: steps times passes
        over updates.

    Threshold and source
        Below 16 (guess).

    Prescription
        batch_size 64 to 256.

    Known false alarms
        A2C, which learns from whole rollouts; batches of half a rollout or more, where it is the
        rollout that is too short.

    References
        muPRL.
    """

    id = "DAT007"
    name = "batches-tiny"
    family = "data"
    severity = "medium"
    either = ("batch_size", "train/metrics/epochs_done")
    thresholds = {"batch": Threshold(16.0, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "batch-too-small": 0.95,
        "rollout-too-short": 0.6,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        counted = counts(run)
        batch = counted.batch
        if not 0 < batch < self.bound("batch") or run.algo == "a2c":
            return None
        if batch * 2 > counted.env_steps and run.family == "on-policy":
            return None  # the rollout leaves no room for more: that is too short
        return self.found(f"A batch has {batch:.0f} transitions.", batch=batch)
