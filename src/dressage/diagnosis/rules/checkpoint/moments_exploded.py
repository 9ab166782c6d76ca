"""CKP003."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import CheckpointRule, newest
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class MomentsExploded(CheckpointRule):
    """The optimizer has seen gradients of a thousand and more.

    Why it hurts
        After such gradients the step size of Adam is near zero for thousands of updates.

    Evidence
        The largest root of a second moment.

    Threshold and source
        Above 1,000 (guess).

    Prescription
        Clip gradients, scale the reward, normalise observations.

    Known false alarms
        Losses that are sums instead of means.

    References
        None.
    """

    id = "CKP003"
    name = "moments-exploded"
    family = "checkpoint"
    severity = "high"
    thresholds = {"root": Threshold(1000.0, "guess")}
    expected = {
        "reward-scale-too-large": 0.4,
        "grad-clip-missing": 0.5,
        "optimizer-state-corrupted": 0.3,
        "q-divergence": 0.4,
        "obs-unnormalised": 0.1,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        found = newest(run)
        if found is None:
            return None
        problems = [p.says for p in found.problems if p.kind == "exploding-moments"]
        if not problems:
            return None
        return self.found(problems[0], checkpoint=found.path.name, problems=len(problems))
