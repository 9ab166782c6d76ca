"""VAL002."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValueLossHuge(Rule):
    """The value loss is of a size that swamps everything else.

    Why it hurts
        Gradients of such a loss are clipped to almost nothing, and in a shared network the policy
        is not learned at all.

    Evidence
        The value loss over the run.

    Threshold and source
        Above 1e3 in the median (guess; value targets belong within ±10 [AJ]).

    Prescription
        normalize_reward, or a reward divided by its usual size.

    Known false alarms
        Rewards that are large by nature and learned with a value network of its own.

    References
        “Debugging RL, without the agonizing pain”.
    """

    id = "VAL002"
    name = "value-loss-huge"
    family = "value"
    severity = "high"
    needs = ("train/loss/value",)
    families = ("on-policy",)
    thresholds = {"loss": Threshold(1e3, "guess")}
    expected = {
        "reward-scale-too-large": 0.95,
        "critic-dominates": 0.9,
        "gamma-too-high": 0.4,
        "grad-clip-missing": 0.5,
        "lr-too-high": 0.15,
        "value-clip-too-tight": 0.4,
        "healthy": 0.03,
        "advantage-normalisation": 0.3,
        "bad-initialisation": 0.05,
        "discount-misapplied": 0.1,
    }

    def check(self, run: RunView) -> Finding | None:
        loss, bound = run["train/loss/value"], self.thresholds["loss"].value
        middle = median(loss)
        if not middle > bound:
            return None
        return self.found(
            f"The value loss is {middle:.3g} in the median; targets within ±10 give at most "
            "about 100.",
            "train/loss/value",
            value_loss_median=middle,
        )
