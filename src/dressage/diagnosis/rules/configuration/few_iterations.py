"""CFG003."""

from __future__ import annotations

from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class FewIterations(Rule):
    """The budget holds only a few updates of the policy.

    Why it hurts
        Each rollout is used once and thrown away: with few of them the policy has few chances to
        change.

    Evidence
        The budget over n_steps times n_envs.

    Threshold and source
        Fewer than 20 iterations (guess).

    Prescription
        Fewer environments or shorter rollouts.

    Known false alarms
        Runs with very many epochs a rollout.

    References
        SB3 issue 766.
    """

    id = "CFG003"
    name = "few-iterations"
    family = "configuration"
    severity = "high"
    families = ("on-policy",)
    settings = ("n_steps", "n_envs")
    thresholds = {"iterations": Threshold(20, "guess")}
    expected = {
        "rollout-too-long": 0.95,
        "budget-too-small": 0.5,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        steps = int(run.config["n_steps"]) * int(run.config["n_envs"])
        budget = run.budget or run.env_steps
        if not budget or steps < 1 or budget / steps >= self.thresholds["iterations"].value:
            return None
        return self.found(
            f"{budget:,.0f} env steps are {budget / steps:.0f} rollouts of {steps}.",
            rollouts=budget / steps,
        )
