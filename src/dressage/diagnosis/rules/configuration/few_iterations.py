"""CFG003."""

from __future__ import annotations

from dressage.diagnosis.look import counts
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class FewIterations(Rule):
    """The budget holds only a few updates of the policy.

    Why it hurts
        Each rollout is used once and thrown away: with few of them the policy has few chances to
        change.

    Evidence
        The budget over the steps of a rollout, as configured or as the counters of the log tell.

    Threshold and source
        Fewer than 10 iterations (guess). SB3's default rollout makes 15 in 30,000 env steps, and
        learns CartPole in them.

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
    either = ("train/cnt/iterations", "n_steps", "train/loss/policy")
    thresholds = {"iterations": Threshold(10, "guess")}
    elsewhere = 0.05  # whoever looks for a fault cuts the budget
    expected = {
        "rollout-too-long": 0.95,
        "budget-too-small": 0.5,
        "healthy": 0.01,
        "batch-too-large": 0.5,
        "nan-input": 0.5,
    }

    def check(self, run: RunView) -> Finding | None:
        steps, budget = counts(run).env_steps, run.budget or run.env_steps
        if run.algo != "ppo" and "n_steps" not in run.config:
            return None  # others log once in many rounds
        if not (budget and steps > 0) or budget / steps >= self.bound("iterations"):
            return None
        return self.found(
            f"{budget:,.0f} env steps are {budget / steps:.0f} rollouts of {steps:.0f}.",
            rollouts=budget / steps,
        )
