"""OPT013."""

from __future__ import annotations

from dressage.diagnosis.look import bodies, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class UpdatesLargeBesideWeights(Rule):
    """An update changes the weights by over a hundredth of themselves.

    Why it hurts
        A hundred such steps replace the network: what was learned does not stay.

    Evidence
        The norm of an update over the norm of the weights, of the network that moves most,
        after the first tenth.

    Threshold and source
        Above 1e-2 in the median after the first tenth, or above 8e-2 in the first rows
        (guess; about 1e-3 is usual [KA]).

    Prescription
        Divide the learning rate by three to ten.

    Known false alarms
        Very small networks; heads on shared layers, which begin at nearly zero and are left out.

    References
        Karpathy, CS231n.
    """

    id = "OPT013"
    name = "updates-large-beside-weights"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/update_to_weight/*",)
    thresholds = {"ratio": Threshold(0.01, "guess"), "start": Threshold(0.08, "guess")}
    expected = {
        "lr-too-high": 0.85,
        "optimizer-state-corrupted": 0.2,
        "weight-decay-too-strong": 0.4,
        "network-too-small": 0.15,
        "grad-clip-missing": 0.2,
        "q-divergence": 0.3,
        "value-lr-mismatch": 0.2,
        "healthy": 0.01,
        "entropy-collapse": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        moves = bodies(run, "train/metrics/update_to_weight/*")
        most = max((m for s in moves.values() if (m := median(s, 0.1)) == m), default=0.0)
        first = max((float(s.values[:2].max()) for s in moves.values()), default=0.0)
        if run.algo == "a2c":  # RMSprop's moments start at nothing, so its first steps are large
            first = 0.0
        if not (most > self.bound("ratio") or first > self.bound("start")):
            return None
        most = max(most, first)
        return self.found(
            f"An update is {most:.2g} of its weights; 1e-3 is usual.",
            "train/metrics/update_to_weight/*",
            update_to_weight=most,
        )
