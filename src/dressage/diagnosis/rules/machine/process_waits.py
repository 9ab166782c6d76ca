"""MAC033."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ProcessWaits(Rule):
    """The process that trains waits for something else most of the time.

    Why it hurts
        A core that waits for workers, a disk or a real-time clock learns nothing meanwhile.

    Evidence
        CPU time of the process over the time that passes.

    Threshold and source
        Below 0.7 cores in the median (guess; about 1 where it collects and learns by itself).

    Prescription
        backend=inline where steps are cheap; more environments where they are not.

    Known false alarms
        A machine that does other things too; an environment that runs in real time.

    References
        The metric sys/cpu_share.
    """

    id = "MAC033"
    name = "process-waits"
    family = "machine"
    severity = "low"
    needs = ("sys/cpu_share",)
    thresholds = {"share": Threshold(0.7, "guess")}
    elsewhere = 0.02
    expected = {
        "hardware-underused": 0.9,
        "pipeline-bottleneck": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        share = median(run["sys/cpu_share"])
        if not share < self.bound("share"):
            return None
        return self.found(
            f"The process computes {share:.0%} of the time.",
            "sys/cpu_share",
            share=share,
        )
