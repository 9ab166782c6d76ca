"""MAC033."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class WorkersWait(Rule):
    """All worker processes together step less than one process would.

    Why it hurts
        What goes into messages, and into waiting for the slowest worker, is lost to steps.

    Evidence
        How many workers are in a step or a reset, on average over the time they are waited for.

    Threshold and source
        Below 0.8 in the median over the run: at 1, a single process would have taken as long for
        the same steps, without the messages (by construction, with a margin).

    Prescription
        backend=inline where steps are cheap; else more environments for each worker.

    Known false alarms
        A machine whose cores do other work. Environments of which a few steps take far longer than
        most keep all other workers waiting.

    References
        The cause hardware-underused.
    """

    id = "MAC033"
    name = "workers-wait"
    family = "machine"
    severity = "low"
    needs = ("sys/workers_busy",)
    thresholds = {"busy": Threshold(0.8, "by construction")}
    elsewhere = 0.02
    expected = {
        "hardware-underused": 0.95,
        "pipeline-bottleneck": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        busy = median(run["sys/workers_busy"])
        if not busy < self.bound("busy"):
            return None
        return self.found(
            f"On average {busy:.2g} worker processes are in a step while they are waited for; one "
            "process that does nothing else would be 1.",
            "sys/workers_busy",
            busy=busy,
        )
