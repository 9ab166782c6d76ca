"""CKP004."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import CheckpointRule, newest
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class OptimizerStepsWrong(CheckpointRule):
    """The optimizer's count of steps does not fit the run's updates.

    Why it hurts
        Adam corrects its moments by this count; a count that began anew gives large first steps.

    Evidence
        Steps in the optimizer state against updates in the checkpoint.

    Threshold and source
        More than the updates, or below 1 % of them (guess).

    Prescription
        Resume with the optimizer state of the same checkpoint.

    Known false alarms
        An optimizer that is meant to be reset, as for resets against loss of plasticity.

    References
        None.
    """

    id = "CKP004"
    name = "optimizer-steps-wrong"
    family = "checkpoint"
    severity = "high"
    thresholds = {"share": Threshold(0.01, "guess")}
    expected = {
        "optimizer-state-corrupted": 0.5,
        "resume-lost-state": 0.5,
        "schedule-restarts": 0.2,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        found = newest(run)
        if found is None:
            return None
        problems = [p.says for p in found.problems if p.kind == "wrong-steps"]
        if not problems:
            return None
        return self.found(problems[0], checkpoint=found.path.name, problems=len(problems))
