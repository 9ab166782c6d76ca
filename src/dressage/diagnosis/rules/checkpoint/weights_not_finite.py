"""CKP001."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import CheckpointRule, newest
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class WeightsNotFinite(CheckpointRule):
    """Saved weights or moments are NaN or infinite.

    Why it hurts
        Every prediction made with them is NaN; nothing can be learned from there.

    Evidence
        The newest checkpoint, entry by entry.

    Threshold and source
        Any [RW].

    Prescription
        Go back to a checkpoint before it, lower the rate, clip gradients, look for NaN in the
        input.

    Known false alarms
        None known.

    References
        rlwatch.
    """

    id = "CKP001"
    name = "weights-not-finite"
    family = "checkpoint"
    severity = "critical"
    fatal = True
    thresholds = {"entries": Threshold(0.0, "rlwatch")}
    expected = {
        "nan-input": 0.5,
        "grad-clip-missing": 0.3,
        "lr-too-high": 0.2,
        "optimizer-state-corrupted": 0.2,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        found = newest(run)
        if found is None:
            return None
        problems = [p.says for p in found.problems if p.kind == "not-finite"]
        if not problems:
            return None
        return self.found(problems[0], checkpoint=found.path.name, problems=len(problems))
