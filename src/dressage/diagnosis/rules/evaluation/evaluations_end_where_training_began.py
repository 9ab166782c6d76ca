"""EVA032."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, beginning, early_spread, end, part
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class EvaluationsEndWhereTrainingBegan(Rule):
    """The last evaluations earn no more than the first episodes of training did.

    Why it hurts
        Without its noise the policy shows what it has learned: nothing.

    Evidence
        The median of the last three evaluations beside the first returns of training and the spread
        of single episodes.

    Threshold and source
        Less than 0.15 of that spread above them (our labelled runs, 2026-11-17: no healthy run).

    Prescription
        See the other symptoms: this one says that there is something to find.

    Known false alarms
        Runs that begin solved.

    References
        RLExplorer looks for returns that do not vary.
    """

    id = "EVA032"
    name = "evaluations-end-where-training-began"
    family = "evaluation"
    severity = "high"
    stands_in = True
    needs = ("val/roll/ep_rew_mean",)
    thresholds = {"deviations": Threshold(0.15, "our labelled runs, 2026-11-17")}
    elsewhere = 0.45
    expected = {
        "policy-loss-sign": 0.9,
        "sparse-reward": 0.73,
        "q-divergence": 0.86,
        "actor-saturation": 0.73,
        "action-range-unnormalised": 0.78,
        "optimizer-state-corrupted": 0.89,
        "updates-starved": 0.66,
        "reward-scale-too-large": 0.78,
        "schedule-restarts": 0.74,
        "action-space-degenerate": 0.74,
        "weight-decay-too-strong": 0.74,
        "optimizer-eps": 0.74,
        "lr-too-high": 0.76,
        "reward-uninformative": 0.73,
        "learning-never-starts": 0.72,
        "obs-constant": 0.73,
        "updates-too-few": 0.7,
        "truncation-as-termination": 0.65,
        "learning-starts-misplaced": 0.67,
        "bad-initialisation": 0.66,
        "dead-policy-gradient": 0.27,
        "batch-too-small": 0.24,
        "batch-too-large": 0.23,
        "rollout-too-long": 0.17,
        "lr-schedule-ends-early": 0.18,
        "clip-range-too-tight": 0.13,
        "critic-too-weak": 0.23,
        "entropy-bonus-too-high": 0.11,
        "nan-input": 0.08,
        "value-clip-too-tight": 0.18,
        "final-epsilon-too-high": 0.13,
        "resume-lost-state": 0.23,
        "throughput-decay": 0.1,
        "too-many-epochs": 0.18,
        "reward-hacking": 0.23,
        "pipeline-bottleneck": 0.15,
        "envs-share-seed": 0.23,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        held_out = run["val/roll/ep_rew_mean"]
        first, last = beginning(run), end(held_out)
        if len(part(held_out)) < FEWEST:
            raise TooLittle
        if not last - first <= self.bound("deviations") * early_spread(run):
            return None
        return self.found(
            f"Training began at {first:.4g}, and the last evaluations give {last:.4g}.",
            "val/roll/ep_rew_mean",
            beginning=first,
            evaluation=last,
        )
