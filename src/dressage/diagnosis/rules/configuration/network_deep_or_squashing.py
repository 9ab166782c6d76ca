"""CFG026."""

from __future__ import annotations

from dressage.diagnosis.look import layers
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class NetworkDeepOrSquashing(Rule):
    """Gradients have many layers or sigmoids to pass.

    Why it hurts
        Each of them shrinks what comes back, and the first layers hardly learn.

    Evidence
        net_arch and activation.

    Threshold and source
        More than 6 layers, or sigmoid (guess; two layers of 64 to 256 are usual).

    Prescription
        net_arch [64, 64], tanh on-policy, ReLU off-policy.

    Known false alarms
        Networks with residual connections.

    References
        RLMutation, policy activation change.
    """

    id = "CFG026"
    name = "network-deep-or-squashing"
    family = "configuration"
    severity = "medium"
    either = ("net_arch", "activation")
    thresholds = {"layers": Threshold(6.0, "guess")}
    elsewhere = 0.0005
    expected = {
        "network-too-deep": 0.9,
        "activation-choice": 0.6,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        deepest = max(map(len, layers(run)), default=0)
        squashed = "sigmoid" in str(run.config.get("activation", "")).lower()
        if not (deepest > self.bound("layers") or squashed):
            return None
        return self.found(
            f"net_arch is {run.config.get('net_arch')}, the activation "
            f"{run.config.get('activation', 'not known')}; two layers of 64 are usual.",
            layers=deepest,
        )
