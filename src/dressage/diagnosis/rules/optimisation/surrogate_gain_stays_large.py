"""OPT045."""

from __future__ import annotations

from dressage.diagnosis.look import size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SurrogateGainStaysLarge(Rule):
    """Late in the run each round of updates still promises itself a large gain.

    Why it hurts
        The policy loss after a rollout's updates tells how far they went on their own data; a
        policy that settles goes less and less far.

    Evidence
        The size of the policy loss in the last fifth of the run.

    Threshold and source
        Above 0.01 of a normalised advantage (our labelled runs, 2026-11-17: one healthy run in
        four, and two of three with too many epochs).

    Prescription
        A learning rate that decays, fewer epochs.

    Known false alarms
        Few and long rollouts.

    References
        “The 37 implementation details of PPO”.
    """

    id = "OPT045"
    name = "surrogate-gain-stays-large"
    family = "optimisation"
    severity = "medium"
    stands_in = True
    needs = ("train/loss/policy",)
    families = ("on-policy",)
    thresholds = {"size": Threshold(0.01, "our labelled runs, 2026-11-17")}
    elsewhere = 0.08
    expected = {
        "too-many-epochs": 0.63,
        "grad-clip-missing": 0.29,
        "clip-range-too-wide": 0.33,
        "lr-too-high": 0.3,
        "healthy": 0.243,
    }

    def check(self, run: RunView) -> Finding | None:
        late = size(run["train/loss/policy"], 0.8)
        if not late > self.bound("size"):
            return None
        return self.found(
            f"{run.own_name('train/loss/policy')} "
            f"is {late:.2g} in size in the last fifth of the run.",
            "train/loss/policy",
            policy_loss=late,
        )
