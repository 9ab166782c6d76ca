"""EVA031."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, beginning, early_spread, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EvaluationsStayAboveTheStart(Rule):
    """Every evaluation lies above where training began: a sign of health.

    Why it hurts
        It does not: it speaks against faults, and is counted without being shown.

    Evidence
        The lowest evaluation beside the first returns of training.

    Threshold and source
        A spread of single episodes above them (our labelled runs, 2026-11-17: three of five healthy
        runs, one in six of the others).

    Prescription
        None.

    Known false alarms
        Faults that do no more than slow a run down.

    References
        None.
    """

    id = "EVA031"
    name = "evaluations-stay-above-the-start"
    family = "evaluation"
    severity = "low"
    sign = True
    stands_in = True
    needs = ("val/roll/ep_rew_mean",)
    thresholds = {"deviations": Threshold(1.0, "our labelled runs, 2026-11-17")}
    elsewhere = 0.18
    expected = {
        "resume-lost-state": 0.59,
        "throughput-decay": 0.65,
        "reward-hacking": 0.46,
        "entropy-bonus-too-high": 0.54,
        "lr-schedule-ends-early": 0.54,
        "value-clip-too-tight": 0.47,
        "critic-too-weak": 0.34,
        "normaliser-mismatch": 0.34,
        "batch-too-large": 0.39,
        "pipeline-bottleneck": 0.39,
        "episode-limit-too-short": 0.34,
        "envs-share-seed": 0.34,
        "healthy": 0.63,
    }

    def check(self, run: RunView) -> Finding | None:
        held_out, bound = part(run["val/roll/ep_rew_mean"]), self.bound("deviations")
        if len(held_out) < FEWEST:
            raise TooLittle
        first, lowest = beginning(run), float(held_out.min())
        if not lowest > first + bound * early_spread(run):
            return None
        return self.found(f"No evaluation is below {lowest:.4g}; training began at {first:.4g}.")
