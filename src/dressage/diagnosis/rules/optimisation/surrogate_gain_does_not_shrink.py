"""OPT046."""

from __future__ import annotations

from dressage.diagnosis.look import size, solved
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SurrogateGainDoesNotShrink(Rule):
    """A round of updates gains as much at the end as at the start, and nothing was solved.

    Why it hurts
        The policy moves on and on without getting nearer to anything.

    Evidence
        The size of the policy loss, late beside early.

    Threshold and source
        Above 0.7 of it (our labelled runs, 2026-11-17: one healthy run in nine).

    Prescription
        See what else is seen: rates, epochs and advantages set that size.

    Known false alarms
        Constant learning rates on tasks that are learned slowly.

    References
        “The 37 implementation details of PPO”.
    """

    id = "OPT046"
    name = "surrogate-gain-does-not-shrink"
    family = "optimisation"
    severity = "medium"
    stands_in = True
    needs = ("train/loss/policy",)
    families = ("on-policy",)
    thresholds = {"share": Threshold(0.7, "our labelled runs, 2026-11-17")}
    elsewhere = 0.25
    expected = {
        "too-many-epochs": 0.65,
        "clip-range-too-tight": 0.77,
        "action-range-unnormalised": 0.5,
        "action-space-degenerate": 0.5,
        "critic-dominates": 0.43,
        "reward-misaligned": 0.37,
        "bad-initialisation": 0.42,
        "logged-reward-normalised": 0.37,
        "truncation-as-termination": 0.37,
        "value-lr-mismatch": 0.37,
        "healthy": 0.11,
    }

    def check(self, run: RunView) -> Finding | None:
        loss = run["train/loss/policy"]
        early, late = size(loss, 0.0, 0.15), size(loss, 0.8)
        if not late > self.bound("share") * early or solved(run):
            return None
        return self.found(
            f"{run.own_name('train/loss/policy')} "
            f"was {early:.2g} in size at first and is {late:.2g}.",
            "train/loss/policy",
            early=early,
            late=late,
        )
