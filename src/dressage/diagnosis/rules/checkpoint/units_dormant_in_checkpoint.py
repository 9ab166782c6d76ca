"""CKP006."""

from __future__ import annotations

from dressage.core.inspection import DORMANT_TAU
from dressage.diagnosis.checkpoints import CheckpointRule, newest
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class UnitsDormantInCheckpoint(CheckpointRule):
    """Many hidden units of the saved networks hardly respond to anything.

    Why it hurts
        Sleeping units take no part: the network is smaller than it looks, and learns less.

    Evidence
        Mean absolute activation of each unit on standard normal observations, against its layer's.

    Threshold and source
        A unit sleeps at 0.025 of its layer's mean [DN]; a third of all units asleep (guess).

    Prescription
        Fewer updates per step, layer norm, a lower rate, normalised observations.

    Known false alarms
        Networks whose observations are far from standard normal.

    References
        Sokar et al. 2023, “The dormant neuron phenomenon”.
    """

    id = "CKP006"
    name = "units-dormant-in-checkpoint"
    family = "checkpoint"
    severity = "medium"
    thresholds = {"tau": Threshold(DORMANT_TAU, "DN"), "share": Threshold(1 / 3, "guess")}
    expected = {
        "updates-too-many": 0.4,
        "network-too-deep": 0.2,
        "lr-too-high": 0.2,
        "obs-unnormalised": 0.1,
        "weight-decay-too-strong": 0.3,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        found = newest(run)
        if found is None or not found.dormant_share >= self.thresholds["share"].value:
            return None
        worst = max(found.units, key=lambda units: units.dormant / units.count)
        return self.found(
            f"{found.dormant_share:.0%} of the hidden units of the newest saved model sleep; in "
            f"{worst.layer} {worst.dormant} of {worst.count}.",
            checkpoint=found.path.name,
            dormant_share=found.dormant_share,
        )
