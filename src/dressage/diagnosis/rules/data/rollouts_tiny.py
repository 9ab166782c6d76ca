"""DAT010."""

from __future__ import annotations

from dressage.diagnosis.look import counts, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RolloutsTiny(Rule):
    """A rollout is only a few steps.

    Why it hurts
        Advantages are then almost all bootstrap, and each update sees a corner of the task.

    Evidence
        Env steps between updates, as configured or as the counters of the log tell.

    Threshold and source
        Fewer than 64 in all for PPO, 16 for A2C (guess; buffers of 2,048 and more [ML]).

    Prescription
        n_steps 128 to 2,048 for PPO, 5 to 64 for A2C with eight environments.

    Known false alarms
        Tasks of one or two steps.

    References
        ml-agents’ documentation.
    """

    id = "DAT010"
    name = "rollouts-tiny"
    family = "data"
    severity = "high"
    families = ("on-policy",)
    either = ("train/cnt/iterations", "n_steps")
    thresholds = {"ppo": Threshold(64.0, "guess"), "a2c": Threshold(16.0, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "rollout-too-short": 0.95,
        "batch-too-small": 0.2,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        steps = counts(run).env_steps
        least = self.bound("a2c" if run.algo in ("a2c", "a3c", "impala") else "ppo")
        if not 0 < steps < least or median(run["train/roll/ep_len_mean"]) < 5:
            return None
        return self.found(f"A rollout has {steps:.0f} env steps.", env_steps=steps)
