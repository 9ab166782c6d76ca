"""CKP009."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class InputsAllTheSame(SavedModelRule):
    """The optimizer remembers observations that never changed.

    Why it hurts
        A policy that sees the same thing at every step cannot tell what to do when.

    Evidence
        Second moments of the first layer: over those of the bias they are the mean square of each
        observation, the same for every unit where the observation is constant.

    Threshold and source
        Every input of some network: arithmetic, to 2 % (see saved_model.py).

    Prescription
        Look at what reset() and step() return as the observation.

    Known false alarms
        None known; single inputs that never change are usual and do not count.

    References
        None.
    """

    id = "CKP009"
    name = "inputs-all-the-same"
    family = "checkpoint"
    severity = "critical"
    reads = ("critic/input_same",)
    thresholds = {"share": Threshold(1.0, "arithmetic")}
    elsewhere = 0.005
    expected = {"obs-constant": 0.8, "healthy": 0.001}

    def check(self, run: RunView) -> Finding | None:
        numbers = saved_numbers(run)
        same = max(numbers[name] for name in numbers if name.endswith("/input_same"))
        if not same >= self.bound("share"):
            return None
        return self.found(
            "By the optimizer’s moments of the first layer no number of the observation ever "
            "changed.",
            share=same,
        )
