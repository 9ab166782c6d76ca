"""OPT001."""

from __future__ import annotations

from dressage.diagnosis.look import median, share_above
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class KlTooLarge(Rule):
    """The policy moves too far in each update.

    Why it hurts
        The surrogate that PPO maximises is only right near the policy that collected the data.
        Updates that leave this neighbourhood undo what was learned, and the return collapses.

    Evidence
        The KL divergence between the collecting and the updated policy, over the middle and the
        end of the run.

    Threshold and source
        Above 0.05 in the median, or above it in a third of the updates [GS]; a healthy run stays
        below 0.02 [37].

    Prescription
        Divide the learning rate by three, or end an update once the KL passes 0.015 (`target_kl`).

    Known false alarms
        The first updates of a run, which are left out; discrete policies that become certain.

    References
        "The 37 implementation details of PPO", detail 12 of debugging; gymnasium-solver's alerts.
    """

    id = "OPT001"
    name = "kl-too-large"
    family = "optimisation"
    severity = "high"
    needs = ("train/metrics/kl_divergence",)
    families = ("on-policy",)
    thresholds = {"kl": Threshold(0.05, "GS"), "share": Threshold(0.33, "guess")}
    expected = {
        "lr-too-high": 0.85,
        "too-many-epochs": 0.7,
        "clip-range-too-wide": 0.6,
        "advantage-normalisation": 0.4,
        "batch-too-small": 0.3,
        "grad-clip-missing": 0.3,
        "optimizer-state-corrupted": 0.3,
        "distributed-desync": 0.6,
        "bad-initialisation": 0.3,
        "obs-unnormalised": 0.15,
        "rollout-too-short": 0.6,
        "optimizer-eps": 0.05,
        "value-lr-mismatch": 0.05,
        "network-too-small": 0.05,
        "normaliser-mismatch": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        kl, bound = run["train/metrics/kl_divergence"], self.thresholds["kl"].value
        middle, share = median(kl, 0.1), share_above(kl, bound, 0.1)
        if not (middle > bound or share > self.thresholds["share"].value):
            return None
        return self.found(
            f"The KL divergence of an update is {middle:.3g} in the median and above {bound:g} in "
            f"{share:.0%} of them; healthy is below 0.02.",
            "train/metrics/kl_divergence",
            kl_median=middle,
            share_above=share,
        )
