"""VAL018."""

from __future__ import annotations

from dressage.diagnosis.look import median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class AdvantagesOutOfScale(Rule):
    """Advantages are far from a scale of one and not normalised.

    Why it hurts
        The policy’s step is then set by the size of the rewards: far too large, or far too
        small beside the entropy bonus.

    Evidence
        The size of the policy loss, which is at most about 0.1 where advantages are
        normalised.

    Threshold and source
        A policy loss above 1 in the median, or adv_std above 10 [AJ] with a policy gradient
        above 10 (guess).

    Prescription
        normalize_advantage, or rewards near one.

    Known false alarms
        REINFORCE and A2C without normalisation, whose loss is of the size of the returns;
        PPO alone is looked at.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "VAL018"
    name = "advantages-out-of-scale"
    family = "value"
    severity = "medium"
    families = ("on-policy",)
    needs = ("train/loss/policy",)
    thresholds = {"loss": Threshold(1.0, "guess"), "adv_std": Threshold(10.0, "AJ")}
    elsewhere = 0.01
    expected = {
        "advantage-normalisation": 0.85,
        "shape-broadcast": 0.1,
        "reward-scale-too-large": 0.1,
        "grad-clip-missing": 0.1,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        if run.algo not in ("ppo", "appo", "trpo"):
            return None
        loss, spread = size(run["train/loss/policy"], 0.05), median(run["train/roll/adv_std"], 0.05)
        push = median(run["train/metrics/grad_norm/policy"], 0.05)
        if not (loss > self.bound("loss") or (spread > self.bound("adv_std") and push > 10.0)):
            return None
        return self.found(
            f"The policy loss is {loss:.3g} in the median; normalised advantages give below 0.1.",
            "train/loss/policy",
            policy_loss=loss,
        )
