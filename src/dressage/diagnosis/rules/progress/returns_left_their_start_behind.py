"""PRO032."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, law_of_returns_moved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnsLeftTheirStartBehind(Rule):
    """Hardly any late episode earns as little as the first ones did: a sign of health.

    Why it hurts
        It does not: it speaks against faults, and is counted without being shown.

    Evidence
        The laws of single episodes' returns, first fifth and last, by Kolmogorov and Smirnov's
        distance.

    Threshold and source
        A distance above 0.85, upwards (our labelled runs, 2026-11-17: two of three healthy runs,
        one in six of the others).

    Prescription
        None.

    Known false alarms
        Rewards that pay for something else than the task.

    References
        Massey 1951, the test of Kolmogorov and Smirnov.
    """

    id = "PRO032"
    name = "returns-left-their-start-behind"
    family = "progress"
    severity = "low"
    sign = True
    stands_in = True
    thresholds = {"distance": Threshold(0.85, "our labelled runs, 2026-11-17")}
    elsewhere = 0.16
    expected = {
        "budget-too-small": 0.58,
        "critic-too-weak": 0.45,
        "normaliser-mismatch": 0.45,
        "pipeline-bottleneck": 0.55,
        "eval-env-mismatch": 0.49,
        "value-clip-too-tight": 0.36,
        "resume-lost-state": 0.33,
        "throughput-decay": 0.42,
        "hardware-underused": 0.39,
        "logged-reward-normalised": 0.33,
        "healthy": 0.633,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and len(run.episodes.returns) >= 4 * FEWEST

    def check(self, run: RunView) -> Finding | None:
        distance, up = law_of_returns_moved(run)
        if not (distance > self.bound("distance") and up):
            return None
        return self.found(f"Early and late returns are {distance:.2f} apart, of at most 1.")
