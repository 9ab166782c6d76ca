"""OPT049."""

from __future__ import annotations

from dressage.diagnosis.look import members, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView

FEWEST_LOOKS = 2


class SomeLayersNeverMove(Rule):
    """Updates change some layers of a network and leave others as they are.

    Why it hurts
        A layer that does not learn gives the others its random features to work with: small tasks
        are learned all the same, larger ones slowly or not at all.

    Evidence
        Of a network's weight arrays, the share that the updates of an iteration change.

    Threshold and source
        Above 0 and below 1 at every look in the second half of the run; it is 1 where all layers
        learn (by construction).

    Prescription
        Look for requires_grad=False, detach() or no_grad() before the layer, and for parameters
        that the optimizer was not given.

    Known false alarms
        Layers that were frozen on purpose, such as features that were learned elsewhere. Weight
        decay moves layers without a gradient too, and hides them from this rule.

    References
        The metric train/metrics/layers_moved/*.
    """

    id = "OPT049"
    name = "some-layers-never-move"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/layers_moved/*",)
    thresholds = {
        "none": Threshold(0.0, "by construction"),
        "all": Threshold(1.0, "by construction"),
    }
    elsewhere = 0.001
    expected = {
        "features-frozen": 0.97,
        "dead-policy-gradient": 0.3,
        "critic-too-weak": 0.2,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        moved = {
            chunk: late
            for chunk, series in members(run, "train/metrics/layers_moved/*").items()
            if len(late := part(series, 0.5)) >= FEWEST_LOOKS
        }
        if not moved:
            raise TooLittle
        some = {
            chunk: float(late.max())
            for chunk, late in moved.items()
            if late.min() > self.bound("none") and late.max() < self.bound("all")
        }
        if not some:
            return None
        chunk = min(some, key=some.__getitem__)
        return self.found(
            f"Updates change {some[chunk]:.0%} of the weight arrays of the {chunk} network.",
            f"train/metrics/layers_moved/{chunk}",
            network=chunk,
            share=some[chunk],
        )
