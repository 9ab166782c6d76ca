"""OPT048."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, SINGLE_STEP, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class KlNeverNotable(Rule):
    """In no round of the whole run did the policy move notably.

    Why it hurts
        Steps that small lead nowhere within the budget.

    Evidence
        The largest KL divergence of the run.

    Threshold and source
        Below 8e-4 (our labelled runs, 2026-11-17: one healthy run in fifty).

    Prescription
        A higher learning rate, a wider clip range or KL limit, a working optimizer.

    Known false alarms
        A2C and others with one small step a rollout.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "OPT048"
    name = "kl-never-notable"
    family = "optimisation"
    severity = "high"
    stands_in = True
    needs = ("train/metrics/kl_divergence",)
    families = ("on-policy",)
    thresholds = {"kl": Threshold(8e-4, "our labelled runs, 2026-11-17")}
    elsewhere = 0.13
    expected = {
        "clip-range-too-tight": 0.84,
        "shape-broadcast": 0.84,
        "target-kl-too-tight": 0.81,
        "optimizer-choice": 0.65,
        "optimizer-eps": 0.61,
        "lr-too-low": 0.66,
        "grad-clip-too-tight": 0.63,
        "dead-policy-gradient": 0.47,
        "weight-decay-too-strong": 0.38,
        "network-too-small": 0.3,
        "reward-scale-too-large": 0.32,
        "healthy": 0.019,
    }

    def check(self, run: RunView) -> Finding | None:
        known = part(run["train/metrics/kl_divergence"])
        if len(known) < FEWEST:
            raise TooLittle
        if run.algo in SINGLE_STEP:
            return None
        highest = float(known.max())
        if not highest < self.bound("kl"):
            return None
        return self.found(
            f"The largest KL divergence of the run is {highest:.1g}.",
            "train/metrics/kl_divergence",
            kl=highest,
        )
