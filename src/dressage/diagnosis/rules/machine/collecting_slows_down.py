"""MAC030."""

from __future__ import annotations

from dressage.diagnosis.look import median, rises
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class CollectingSlowsDown(Rule):
    """Steps of the environment take longer and longer, and updates do not.

    Why it hurts
        Something in the environment or around it grows with every step.

    Evidence
        The time of collecting by parts of the run, beside that of updating.

    Threshold and source
        Over twice as long in the end as at first, longest at the end, where updates take less than
        half of that rise (guess).

    Prescription
        Look for what grows in the environment and its wrappers: lists, logs, figures.

    Known false alarms
        Episodes that become costlier as the policy becomes better.

    References
        The cause throughput-decay.
    """

    id = "MAC030"
    name = "collecting-slows-down"
    family = "machine"
    severity = "medium"
    needs = ("sys/time/collect", "sys/time/update")
    thresholds = {"times": Threshold(2.0, "guess")}
    elsewhere = 0.004
    expected = {
        "throughput-decay": 0.9,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        collect, update = run["sys/time/collect"], run["sys/time/update"]
        levels = [median(collect, i / 4, (i + 1) / 4) for i in range(4)]
        before, after = median(update, 0.05, 0.3), median(update, 0.75)
        if not (levels[-1] == max(levels) and min(levels[1:]) > 1.2 * levels[0]):
            return None
        if not rises(collect):
            return None
        times, beside = levels[-1] / levels[0], after / before if before > 0 else 1.0
        if not (times > self.bound("times") and beside < 1 + 0.5 * (times - 1)):
            return None
        return self.found(
            f"Collecting takes {times:.1f} times as long as at first, updating {beside:.1f} times.",
            "sys/time/collect",
            times=times,
        )
