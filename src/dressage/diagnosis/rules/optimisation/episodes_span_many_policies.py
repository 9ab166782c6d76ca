"""OPT039."""

from __future__ import annotations

from dressage.diagnosis.look import SINGLE_STEP, counts, median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EpisodesSpanManyPolicies(Rule):
    """A single episode is played by several policies, each made from a few steps.

    Why it hurts
        Advantages that are compared within a handful of neighbouring steps are noise, and
        several passes over them carry the policy after it.

    Evidence
        Env steps of an episode over those of a rollout.

    Threshold and source
        More than 2 rollouts an episode, of fewer than 32 env steps (our labelled runs,
        2026-11-16: 512 env steps and more where healthy).

    Prescription
        n_steps times n_envs of 512 to 2048.

    Known false alarms
        Algorithms that make one step a rollout (A2C), which are left out.

    References
        Schulman et al. 2017; the cause rollout-too-short.
    """

    id = "OPT039"
    name = "episodes-span-many-policies"
    family = "optimisation"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/cnt/iterations", "train/roll/ep_len_mean")
    thresholds = {
        "rollouts": Threshold(2.0, "our labelled runs, 2026-11-16"),
        "env_steps": Threshold(32.0, "our labelled runs, 2026-11-16"),
    }
    elsewhere = 0.01
    expected = {
        "rollout-too-short": 0.9,
        "batch-too-small": 0.02,
        "healthy": 0.003,
    }

    def check(self, run: RunView) -> Finding | None:
        steps = counts(run).env_steps
        if run.algo in SINGLE_STEP or not 0 < steps < self.bound("env_steps"):
            return None
        made = median(run["train/roll/ep_len_mean"]) / steps
        if not made > self.bound("rollouts"):
            return None
        return self.found(
            f"{made:.3g} rollouts of {steps:.0f} env steps are made for each episode.",
            "train/cnt/iterations",
            rollouts=made,
            env_steps=steps,
        )
