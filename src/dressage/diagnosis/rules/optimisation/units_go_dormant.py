"""OPT017."""

from __future__ import annotations

from dressage.diagnosis.look import median, members
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class UnitsGoDormant(Rule):
    """Most hidden units have stopped to react.

    Why it hurts
        A unit that is silent for every input learns nothing any more: the network loses its
        capacity.

    Evidence
        The share of units with a normalised activation below 0.025, late in the run and
        against its first tenth.

    Threshold and source
        Above 0.8, or more than 0.4 above its start [DN; the bounds are a guess, healthy DQN
        has 0.5].

    Prescription
        A lower learning rate, normalised observations, layer_norm, fewer updates for each
        step.

    Known false alarms
        Networks far wider than the task needs.

    References
        Sokar et al. 2023.
    """

    id = "OPT017"
    name = "units-go-dormant"
    family = "optimisation"
    severity = "medium"
    needs = ("train/metrics/dormant_share/*",)
    thresholds = {"share": Threshold(0.8, "guess"), "rise": Threshold(0.4, "guess")}
    expected = {
        "lr-too-high": 0.5,
        "updates-too-many": 0.45,
        "obs-unnormalised": 0.2,
        "network-too-deep": 0.4,
        "reward-scale-too-large": 0.2,
        "actor-saturation": 0.35,
        "bad-initialisation": 0.3,
        "q-divergence": 0.35,
        "obs-constant": 0.3,
        "activation-choice": 0.2,
        "weight-decay-too-strong": 0.35,
        "image-scaling": 0.3,
        "critic-dominates": 0.15,
        "sac-alpha-explodes": 0.2,
        "healthy": 0.03,
    }

    def check(self, run: RunView) -> Finding | None:
        found = {
            net: (median(series, 0.05, 0.2), median(series, 0.8))
            for net, series in members(run, "train/metrics/dormant_share/*").items()
        }
        ill = {
            net: (early, late)
            for net, (early, late) in found.items()
            if late > self.bound("share") or late - early > self.bound("rise")
        }
        if not ill:
            return None
        net, (early, late) = max(ill.items(), key=lambda item: item[1][1])
        return self.found(
            f"{late:.0%} of the hidden units of {net} are dormant; it was {early:.0%} early on.",
            f"train/metrics/dormant_share/{net}",
            late=late,
            early=early,
        )
