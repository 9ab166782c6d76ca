"""OPT033."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesFillTheSharedGradient(Rule):
    """In a network that policy and values share, the policy's gradient is lost.

    Why it hurts
        The shared layers learn what the values need alone, and clipping cuts the sum: of the
        policy's part next to nothing is left.

    Evidence
        The gradient norm of the whole over that of the policy's head, in networks with shared
        layers.

    Threshold and source
        Above 1000 in the median of the first 80 % (our labelled runs, 2026-11-16: 50,000 with
        a value loss that counts 500 times; a tenth of 1000 in healthy runs of ours).

    Prescription
        vf_coef 0.5, rewards on a scale near one, networks of their own.

    Known false alarms
        Policies that have become certain, whose gradient vanishes.

    References
        SB3 issue 2240.
    """

    id = "OPT033"
    name = "values-fill-the-shared-gradient"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/grad_norm/policy", "train/metrics/grad_norm/shared")
    thresholds = {"times": Threshold(1000.0, "our labelled runs, 2026-11-16")}
    elsewhere = 0.02
    expected = {
        "critic-dominates": 0.95,
        "reward-scale-too-large": 0.9,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        policy = median(run["train/metrics/grad_norm/policy"], 0.0, 0.8)
        whole = median(run["train/metrics/grad_norm/shared"], 0.0, 0.8)
        if not (policy > 1e-8 and whole / policy > self.bound("times")):
            return None
        return self.found(
            f"The gradient of the shared layers has a norm of {whole:.3g}, that of the policy's "
            f"head {policy:.3g}.",
            "train/metrics/grad_norm/shared",
            times=whole / policy,
        )
