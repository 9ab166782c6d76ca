"""CKP005."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import CheckpointRule, newest
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class MomentsOfOtherWeights(CheckpointRule):
    """The optimizer state has other sizes than the weights.

    Why it hurts
        It was saved with another network: steps go to the wrong weights, or loading fails.

    Evidence
        Sizes of moments and of weights.

    Threshold and source
        Any difference.

    Prescription
        Load state and weights of one checkpoint.

    Known false alarms
        None known.

    References
        None.
    """

    id = "CKP005"
    name = "moments-of-other-weights"
    family = "checkpoint"
    severity = "critical"
    fatal = True
    thresholds = {"numbers": Threshold(0.0, "arithmetic")}
    expected = {
        "optimizer-state-corrupted": 0.3,
        "loaded-model-ignored": 0.3,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        found = newest(run)
        if found is None:
            return None
        problems = [p.says for p in found.problems if p.kind == "misfit-moments"]
        if not problems:
            return None
        return self.found(problems[0], checkpoint=found.path.name, problems=len(problems))
