"""OPT015."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, counts, number, part
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class UpdatesStopAtOnce(Rule):
    """The KL limit ends updates in their first pass.

    Why it hurts
        Most of each rollout is thrown away.

    Evidence
        Passes over the rollout that were done, against those that were planned or, where
        the plan is not known, against one.

    Threshold and source
        Below a third of n_epochs, or below one pass in a fifth of the updates (guess).

    Prescription
        target_kl 0.01 to 0.03, or none.

    Known false alarms
        A learning rate so high that a sensible limit stops it: the KL is then large.

    References
        SB3’s documentation of target_kl.
    """

    id = "OPT015"
    name = "updates-stop-at-once"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    either = ("train/metrics/epochs_done", "train/cnt/epochs")
    thresholds = {"share": Threshold(0.34, "guess")}
    elsewhere = 0.01
    expected = {
        "target-kl-too-tight": 0.95,
        "lr-too-high": 0.06,
        "distributed-desync": 0.2,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        passes, planned = counts(run).epochs, number(run, "n_epochs")
        most = self.bound("share") * planned if planned > 1 else 0.99
        finished = part(run["train/metrics/epochs_done"])
        cut = len(finished) >= FEWEST and float((finished < 0.99).mean()) > 0.2
        if not (passes < most or cut):
            return None
        return self.found(
            f"Updates end after {passes:.2g} passes over the rollout"
            + (f" of {planned:.0f} planned." if planned > 1 else "."),
            "train/metrics/epochs_done",
            epochs_done=passes,
        )
