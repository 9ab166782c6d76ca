"""VAL020."""

from __future__ import annotations

from dressage.diagnosis.look import like, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PenaltyOutweighsValues(Rule):
    """The conservative penalty is all of the loss, or none of it.

    Why it hurts
        Too strong it leaves only what the data did; too weak it holds nothing down.

    Evidence
        CQL’s penalty (conservative_loss, cql_loss, cql_min_qf1_loss) beside the TD loss.

    Threshold and source
        Above 100 times or below a thousandth of it (guess).

    Prescription
        A conservative weight of 1 to 10, or a Lagrange multiplier.

    Known false alarms
        Data sets of a single action.

    References
        Kumar et al. 2020; d3rlpy-benchmarks issue 1.
    """

    id = "VAL020"
    name = "penalty-outweighs-values"
    family = "value"
    severity = "medium"
    families = ("offline",)
    thresholds = {"times": Threshold(100.0, "guess")}
    elsewhere = 0.01
    expected = {
        "cql-weight-misplaced": 0.8,
        "offline-overestimation": 0.1,
        "healthy": 0.02,
    }

    def can_see(self, run: RunView) -> bool:
        penalty = like(run, "conservative_loss", "cql_loss", "cql_min_qf1_loss", "cql_qf1_loss")
        loss = like(run, "td_loss", "critic_loss", "qf1_loss", "qf_loss", "td_error")
        return super().can_see(run) and bool(penalty) and bool(loss)

    def check(self, run: RunView) -> Finding | None:
        penalty = like(run, "conservative_loss", "cql_loss", "cql_min_qf1_loss", "cql_qf1_loss")
        loss = like(run, "td_loss", "critic_loss", "qf1_loss", "qf_loss", "td_error")
        share = size(penalty, 0.3) / max(size(loss, 0.3), 1e-12)
        if not (share > self.bound("times") or share < 0.1 / self.bound("times")):
            return None
        return self.found(f"The penalty is {share:.3g} times the TD loss.", times=share)
