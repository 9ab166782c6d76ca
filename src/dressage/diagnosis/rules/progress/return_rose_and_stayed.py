"""PRO040."""

from __future__ import annotations

from dressage.diagnosis.look import done, median, part, returns
from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView


class ReturnRoseAndStayed(Rule):
    """The return rose clearly and ended near its best: a sign of health.

    Why it hurts
        It does not: it speaks against faults, and is counted without being shown.

    Evidence
        The return of the last fifth beside that of the first episodes and the best, or beside the
        environment's threshold.

    Threshold and source
        A rise above the spread of single episodes, and most of the way to the best (arithmetic);
        where the task's threshold is known, half of the way to it, or still rising (guess).

    Prescription
        None.

    Known false alarms
        Faults that only slow a run down; rewards that pay for something else than the task.

    References
        None.
    """

    id = "PRO040"
    name = "return-rose-and-stayed"
    family = "progress"
    severity = "low"
    sign = True
    elsewhere = 0.3
    expected = {
        "healthy": 0.95,
        "budget-too-small": 0.7,
        "reward-hacking": 0.8,
        "eval-env-mismatch": 0.9,
        "normaliser-mismatch": 0.9,
        "logged-reward-normalised": 0.7,
        "hardware-underused": 0.8,
        "pipeline-bottleneck": 0.8,
        "throughput-decay": 0.9,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(part(returns(run))) >= 10

    def check(self, run: RunView) -> Finding | None:
        if not done(run):
            return None
        return self.found(f"The return rose to {median(returns(run), 0.8):.4g} and stayed.")
