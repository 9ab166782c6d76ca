"""CFG015."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class NetworkOutsideRange(Rule):
    """The networks are tiny, very deep, or squash their units.

    Why it hurts
        A handful of units cannot hold the task; many saturating layers pass no gradient.

    Evidence
        net_arch and activation.

    Threshold and source
        Fewer than 8 units in a layer, more than 6 layers, or sigmoid (guess; two layers of
        64 to 256 are usual).

    Prescription
        net_arch [64, 64], tanh on-policy, ReLU off-policy.

    Known false alarms
        Toy tasks.

    References
        RLMutation, policy activation change.
    """

    id = "CFG015"
    name = "network-outside-range"
    family = "configuration"
    severity = "medium"
    either = ("net_arch", "activation")
    thresholds = {"units": Threshold(8.0, "guess"), "layers": Threshold(6.0, "guess")}
    elsewhere = 0.01
    expected = {
        "network-too-small": 0.9,
        "network-too-deep": 0.9,
        "activation-choice": 0.6,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        arch = run.config.get("net_arch")
        groups = arch.values() if isinstance(arch, dict) else [arch]
        layers = [list(group) for group in groups if isinstance(group, (list, tuple)) and group]
        sizes = [n for group in layers for n in group if isinstance(n, (int, float))]
        deepest = max((len(group) for group in layers), default=0)
        squashed = "sigmoid" in str(run.config.get("activation", "")).lower()
        tiny = bool(sizes) and min(sizes) < self.bound("units")
        if not (tiny or deepest > self.bound("layers") or squashed):
            return None
        return self.found(
            f"net_arch is {arch}, the activation {run.config.get('activation', 'not known')}; two "
            "layers of 64 are usual.",
            layers=deepest,
        )
