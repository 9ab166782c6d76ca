"""VAL009."""

from __future__ import annotations

from dressage.diagnosis.look import early_spread, learned, median, returns, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesRightButReturnFlat(Rule):
    """The values predict the returns well, and the return does not rise.

    Why it hurts
        Learning works; what it learns about does not lead anywhere.

    Evidence
        A high explained variance while the return has not risen.

    Threshold and source
        Explained variance above 0.8 in the second half (guess; above 0.5 is healthy [GS]).

    Prescription
        Look at the discount against the length of episodes, at whether actions matter, at
        the sign and path of the policy’s gradient.

    Known false alarms
        Runs that begin solved.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "VAL009"
    name = "values-right-but-return-flat"
    family = "value"
    severity = "medium"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance",)
    thresholds = {"explained_variance": Threshold(0.8, "guess")}
    expected = {
        "gamma-too-low": 0.6,
        "reward-uninformative": 0.4,
        "action-ignored": 0.4,
        "policy-loss-sign": 0.5,
        "dead-policy-gradient": 0.6,
        "entropy-bonus-too-high": 0.6,
        "sparse-reward": 0.3,
        "gae-lambda-extreme": 0.2,
        "clip-range-too-tight": 0.4,
        "target-kl-too-tight": 0.3,
        "entropy-collapse": 0.4,
        "action-saturation": 0.3,
        "action-space-degenerate": 0.5,
        "action-range-unnormalised": 0.4,
        "reward-sign-flipped": 0.2,
        "episode-limit-too-short": 0.4,
        "action-std-explosion": 0.4,
        "obs-stale": 0.1,
        "partial-observability": 0.1,
        "action-delay": 0.4,
        "advantage-normalisation": 0.2,
        "too-many-epochs": 0.2,
        "lr-too-high": 0.3,
        "value-lr-mismatch": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        late = median(run["train/metrics/explained_variance"], 0.5)
        if not late > self.bound("explained_variance") or learned(run) or solved(run):
            return None
        curve = returns(run)
        before, after = median(curve, 0.0, 0.3), median(curve, 0.7)
        if not after - before < 0.5 * early_spread(run):
            return None
        return self.found(
            f"The values explain {late:.0%} of the returns, and the return went from "
            f"{before:.4g} to "
            f"{after:.4g}.",
            "train/metrics/explained_variance",
            explained_variance=late,
        )
