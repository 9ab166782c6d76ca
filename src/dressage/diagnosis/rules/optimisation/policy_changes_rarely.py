"""OPT037."""

from __future__ import annotations

from dressage.diagnosis.look import counts, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class PolicyChangesRarely(Rule):
    """The policy changes a few times in all, after rollouts that are huge.

    Why it hurts
        The policy that collects is the old one until the rollout is full: what it could
        have learned from a tenth of it waits.

    Evidence
        Env steps of a rollout, and how many rollouts there are.

    Threshold and source
        Above 6000 env steps with fewer than 20 rollouts (guess; 512 to 4096 in healthy runs
        of ours).

    Prescription
        n_steps 128 to 512, fewer environments.

    Known false alarms
        Runs that were stopped early.

    References
        SB3 issue 766.
    """

    id = "OPT037"
    name = "policy-changes-rarely"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    either = ("train/cnt/iterations", "n_steps", "train/loss/policy")
    thresholds = {"env_steps": Threshold(6000.0, "guess"), "rollouts": Threshold(20.0, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "rollout-too-long": 0.95,
        "batch-too-large": 0.1,
        "budget-too-small": 0.01,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        steps, whole = counts(run).env_steps, run.budget or run.env_steps
        if run.algo != "ppo" and "n_steps" not in run.config:
            return None  # others log once in many rounds
        if not (
            steps > self.bound("env_steps") and whole / steps < self.bound("rollouts")
        ) or solved(run):
            return None
        return self.found(
            f"A rollout has {steps:,.0f} env steps, and there are {whole / steps:.0f} of them.",
            env_steps=steps,
        )
