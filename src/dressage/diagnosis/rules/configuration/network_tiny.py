"""CFG015."""

from __future__ import annotations

from dressage.diagnosis.look import layers
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class NetworkTiny(Rule):
    """A layer has only a few units.

    Why it hurts
        What is not passed on by a narrow layer cannot be acted upon.

    Evidence
        net_arch.

    Threshold and source
        Fewer than 8 units in a layer (guess; two layers of 64 to 256 are usual).

    Prescription
        net_arch [64, 64].

    Known false alarms
        Toy tasks.

    References
        RLMutation.
    """

    id = "CFG015"
    name = "network-tiny"
    family = "configuration"
    severity = "medium"
    settings = ("net_arch",)
    thresholds = {"units": Threshold(8.0, "guess")}
    elsewhere = 0.0005
    expected = {
        "network-too-small": 0.9,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        sizes = [n for group in layers(run) for n in group]
        if not (sizes and min(sizes) < self.bound("units")):
            return None
        return self.found(
            f"net_arch is {run.config.get('net_arch')}; two layers of 64 are usual.",
            units=min(sizes),
        )
