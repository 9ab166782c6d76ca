"""EXP031."""

from __future__ import annotations

from dressage.diagnosis.look import median, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EntropyHardlyFell(Rule):
    """The policy has hardly become surer, whatever it earns.

    Why it hurts
        What is learned must show in what is done.

    Evidence
        The entropy late in the run less that at its start.

    Threshold and source
        Less than half a nat below it (our labelled runs, 2026-11-17: one healthy run in five).

    Prescription
        A learning rate that moves the policy; a smaller entropy bonus.

    Known false alarms
        Two actions to choose from leave little to fall; tasks whose best policy is random.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "EXP031"
    name = "entropy-hardly-fell"
    family = "exploration"
    severity = "medium"
    stands_in = True
    needs = ("train/metrics/entropy",)
    families = ("on-policy",)
    thresholds = {"nats": Threshold(0.5, "our labelled runs, 2026-11-17")}
    elsewhere = 0.7
    expected = {
        "clip-range-too-tight": 0.95,
        "entropy-bonus-too-high": 0.93,
        "grad-clip-too-tight": 0.94,
        "lr-schedule-ends-early": 0.93,
        "lr-too-low": 0.95,
        "shape-broadcast": 0.95,
        "target-kl-too-tight": 0.93,
        "value-clip-too-tight": 0.88,
        "dead-policy-gradient": 0.91,
        "schedule-restarts": 0.93,
        "action-range-unnormalised": 0.88,
        "action-space-degenerate": 0.88,
        "bad-initialisation": 0.9,
        "batch-too-large": 0.9,
        "loaded-model-ignored": 0.9,
        "network-too-small": 0.88,
        "optimizer-choice": 0.88,
        "optimizer-eps": 0.91,
        "weight-decay-too-strong": 0.9,
        "truncation-as-termination": 0.85,
        "nan-input": 0.49,
        "env-not-reset": 0.49,
        "policy-loss-sign": 0.42,
        "terminal-not-stored": 0.48,
        "gamma-too-low": 0.4,
        "normaliser-mismatch": 0.48,
        "envs-share-seed": 0.48,
        "eval-env-mismatch": 0.27,
        "throughput-decay": 0.27,
        "optimizer-state-corrupted": 0.32,
        "rollout-too-long": 0.13,
        "logged-reward-normalised": 0.35,
        "healthy": 0.207,
    }

    def check(self, run: RunView) -> Finding | None:
        entropy = run["train/metrics/entropy"]
        first, late = start(entropy), median(entropy, 0.8)
        if not first - late < self.bound("nats"):
            return None
        return self.found(
            f"The policy's entropy was {first:.3g} nats and is {late:.3g}.",
            "train/metrics/entropy",
            entropy_start=first,
            entropy_late=late,
        )
