"""VAL047."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class GradientsLargeBesideErrors(Rule):
    """The gradient of the values is hundreds of times their error.

    Why it hurts
        A gradient is the error times how strongly the network reacts. A network that reacts so
        strongly changes everywhere when it is taught anywhere.

    Evidence
        The gradient norm of the critics, or of the action values, over the TD error.

    Threshold and source
        Above 600 for critics, whose loss is squared, and 75 for action values (our labelled
        runs: at most 55 and 11 where healthy, 900 and 90 with inputs that are too large).

    Prescription
        Observations and rewards on a scale near one; smaller first weights.

    Known false alarms
        Very wide networks, whose gradient grows with the root of their width.

    References
        The cause obs-unnormalised.
    """

    id = "VAL047"
    name = "gradients-large-beside-errors"
    family = "value"
    severity = "high"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/td_error_mean",)
    either = ("train/metrics/grad_norm/critic", "train/metrics/grad_norm/q")
    thresholds = {
        "critics": Threshold(600.0, "our labelled runs, 2026-11-16"),
        "values": Threshold(75.0, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.01
    expected = {
        "obs-unnormalised": 0.9,
        "image-scaling": 0.3,
        "reward-scale-too-large": 0.3,
        "bad-initialisation": 0.4,
        "actor-saturation": 0.1,
        "lr-too-high": 0.03,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        error = median(run["train/metrics/td_error_mean"], 0.3)
        critics = run["train/metrics/grad_norm/critic"]
        name = "critic" if critics else "q"
        norm = median(run[f"train/metrics/grad_norm/{name}"], 0.3)
        bound = self.bound("critics" if critics else "values")
        if not norm > bound * error > 0.0:
            return None
        return self.found(
            f"The gradient norm is {norm:.3g}, {norm / error:.0f} times the TD error.",
            f"train/metrics/grad_norm/{name}",
            norm=norm,
            error=error,
        )
