"""CFG002."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule
from dressage.runs.view import RunView


class BatchDoesNotDivideRollout(Rule):
    """Minibatches do not divide the rollout.

    Why it hurts
        The last minibatch of each epoch is smaller, so its gradient is noisier and weighs as much;
        of a single step its normalised advantage is not a number.

    Evidence
        n_steps times n_envs against batch_size.

    Threshold and source
        A remainder: arithmetic.

    Prescription
        The nearest batch size that divides the rollout.

    Known false alarms
        Libraries that drop the remainder.

    References
        SB3’s warning about truncated minibatches.
    """

    id = "CFG002"
    name = "batch-does-not-divide-rollout"
    family = "configuration"
    severity = "medium"
    families = ("on-policy",)
    settings = ("n_steps", "n_envs", "batch_size")
    elsewhere = 0.0005
    expected = {
        "batch-not-dividing-rollout": 0.99,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        steps = int(run.config["n_steps"]) * int(run.config["n_envs"])
        batch = int(run.config["batch_size"])
        if batch < 1 or steps % batch == 0:
            return None
        return self.found(
            f"A rollout has {steps} steps and a minibatch {batch}: {steps % batch} are left over.",
            rollout=steps,
            batch_size=batch,
        )
