"""OPT036."""

from __future__ import annotations

from dressage.diagnosis.look import bodies
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WeightsAreFew(Rule):
    """The first weights are so light that the network can have only a unit or two.

    Why it hurts
        A layer of one unit passes on one number: what the task depends on beside it is lost.

    Evidence
        The norm of each network's weights in the first row. Usual first weights make it about
        the root of the number of units (a third of them for uniform ones).

    Threshold and source
        Below 2.3 in every network (arithmetic: 1.4 to 2.2 for one or two units with orthogonal
        weights, 11.7 for two layers of 64; 6.5 with uniform ones).

    Prescription
        Two layers of 64.

    Known false alarms
        Linear policies; one narrow layer on one or two inputs; first weights that are scaled
        down.

    References
        The cause network-too-small.
    """

    id = "OPT036"
    name = "weights-are-few"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/weight_norm/*",)
    thresholds = {"norm": Threshold(2.3, "arithmetic")}
    elsewhere = 0.01
    expected = {
        "network-too-small": 0.9,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        nets = bodies(run, "train/metrics/weight_norm/*")
        norms = {net: float(series.values[0]) for net, series in nets.items()}
        largest = max(norms.values(), default=0.0)
        if not 0 < largest < self.bound("norm"):
            return None
        told = ", ".join(f"{net} {norm:.3g}" for net, norm in norms.items())
        return self.found(
            f"The weights begin with norms of {told}.",
            "train/metrics/weight_norm/*",
            norm=largest,
        )
