"""CKP002."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import CheckpointRule, newest
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class MomentsImpossible(CheckpointRule):
    """The optimizer remembers moments that no gradients can give.

    Why it hurts
        The next steps are far too large, or in no sensible direction, until the moments are
        forgotten.

    Evidence
        Signs of second moments, and first moments against the root of the second.

    Threshold and source
        Below zero; above 7.27 times the root, by the inequality of Cauchy and Schwarz for the usual
        betas: a theorem, with a tenth to spare for rounding.

    Prescription
        Load the optimizer state that belongs to the weights, or begin with an empty one.

    Known false alarms
        An optimizer that is not Adam but names its state alike.

    References
        Kingma and Ba 2015.
    """

    id = "CKP002"
    name = "moments-impossible"
    family = "checkpoint"
    severity = "critical"
    fatal = True
    thresholds = {"rounding": Threshold(1.1, "rounding of float32")}
    expected = {
        "optimizer-state-corrupted": 0.9,
        "resume-lost-state": 0.1,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        found = newest(run)
        if found is None:
            return None
        problems = [p.says for p in found.problems if p.kind == "impossible-moments"]
        if not problems:
            return None
        return self.found(problems[0], checkpoint=found.path.name, problems=len(problems))
