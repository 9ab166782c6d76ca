"""CKP021."""

from __future__ import annotations

from dressage.diagnosis.checkpoints import SavedModelRule, saved_numbers
from dressage.diagnosis.rule import Finding, Threshold
from dressage.runs.view import RunView


class PolicyGradientDrowned(SavedModelRule):
    """The policy’s gradient is next to nothing beside the critic’s.

    Why it hurts
        Both are clipped together: a value loss that is too large takes all of the step.

    Evidence
        The roots of the summed second moments of the policy’s and of the critic’s weights.

    Threshold and source
        Below 0.0003 (our labelled runs, 2026-11-18: 0.0000007 to 0.0002 with rewards that are a
        thousand times too large, from 0.04 on in healthy ones of the training settings).

    Prescription
        Rewards of about one (VecNormalize(norm_reward=True)); a smaller vf_coef.

    Known false alarms
        A policy that has nothing left to learn.

    References
        Andrychowicz et al. 2021, “What matters in on-policy reinforcement learning”, on the weight
        of the value loss.
    """

    id = "CKP021"
    name = "policy-gradient-drowned"
    family = "checkpoint"
    severity = "high"
    families = ("on-policy",)
    reads = ("actor/gradient", "critic/gradient")
    thresholds = {"share": Threshold(3e-4, "our labelled runs, 2026-11-18")}
    elsewhere = 0.03
    expected = {
        "reward-scale-too-large": 0.8,
        "critic-dominates": 0.7,
        "obs-constant": 0.2,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        saved = saved_numbers(run)
        policy, critic = saved["actor/gradient"], saved["critic/gradient"]
        if not policy < self.bound("share") * critic:
            return None
        return self.found(
            f"By the optimizer’s moments the policy’s gradient has a norm of {policy:.2g}, the "
            f"critic’s of {critic:.2g}.",
            policy=policy,
            critic=critic,
        )
