"""DAT006."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, returns
from dressage.diagnosis.rule import Finding, Rule, TooLittle
from dressage.runs.view import RunView


class NoUpdatesAtAll(Rule):
    """The log holds returns and not a single update.

    Why it hurts
        All of the run was random actions.

    Evidence
        A counter of updates that stays at zero, or no loss at all beside logged returns.

    Threshold and source
        None after 20 rows (arithmetic).

    Prescription
        learning_starts far below the budget.

    Known false alarms
        Logs of returns alone (monitors), which have no counters either: then nothing is
        said.

    References
        SB3 issue 526.
    """

    id = "DAT006"
    name = "no-updates-at-all"
    family = "data"
    severity = "critical"
    families = ("value-based", "actor-critic")
    either = ("updates", "sys/env_steps_per_second")
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "learning-never-starts": 0.95,
        "learning-starts-misplaced": 0.03,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        done, curve = run["updates"], returns(run)
        if len(curve.values) < 4 * FEWEST:
            raise TooLittle
        losses = [name for name in run.series if name.startswith("train/loss/")]
        idle = bool(done) and not (done.values > 0).any()
        unseen = not done and run.library == "sb3" and bool(run["sys/env_steps_per_second"])
        if losses or not (idle or unseen):
            return None
        return self.found(
            f"{len(curve.values)} rows hold returns and none holds an update.",
            "train/roll/ep_rew_mean",
            rows=len(curve.values),
        )
