"""MAC032."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EvaluationsOutnumberTraining(Rule):
    """Evaluations take more than training.

    Why it hurts
        Most of the steps that are paid for teach nothing.

    Evidence
        Episodes of an evaluation times their length, over all evaluations, beside the env steps of
        training; or how many iterations are followed by an evaluation, and how long those take.

    Threshold and source
        Over four times as many (our labelled runs, 2026-11-16: at most 2.2 with ten evaluations of
        five episodes); or after nine of ten iterations, for over 15 % of the time.

    Prescription
        Evaluate less often, or on fewer episodes.

    Known false alarms
        Very short trials of tasks with long episodes.

    References
        The cause pipeline-bottleneck.
    """

    id = "MAC032"
    name = "evaluations-outnumber-training"
    family = "machine"
    severity = "low"
    needs = ("val/roll/ep_len_mean", "val/roll/episodes")
    thresholds = {
        "times": Threshold(4.0, "our labelled runs, 2026-11-16"),
        "share": Threshold(0.9, "guess"),
        "time": Threshold(0.15, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.004
    expected = {
        "pipeline-bottleneck": 0.9,
        "budget-too-small": 0.05,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        counts, lengths = run["val/roll/episodes"].values, run["val/roll/ep_len_mean"].values
        if len(counts) != len(lengths) or not run.env_steps > 0:
            return None
        times = float(np.nansum(counts * lengths)) / run.env_steps
        if not times > self.bound("times") and not self._each_time(run):
            return None
        return self.found(
            f"Evaluations take {times:.1f} times as many env steps as training.",
            "val/roll/ep_rew_mean",
            times=times,
        )

    def _each_time(self, run: RunView) -> bool:
        spent, clock = run["sys/time/evaluate"].values, run["wall_seconds"].values
        iterations = run["train/cnt/iterations"].values[-1:]
        if not len(clock) or not len(iterations) or not iterations[0] >= 2 * FEWEST:
            return False
        often = len(run["val/roll/episodes"].values) >= self.bound("share") * iterations[0]
        return bool(often and np.nansum(spent) > self.bound("time") * clock[-1])
