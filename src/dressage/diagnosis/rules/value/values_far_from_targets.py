"""VAL005."""

from __future__ import annotations

from dressage.diagnosis.look import median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ValuesFarFromTargets(Rule):
    """Predicted values stay far from what they are trained on.

    Why it hurts
        Advantages then hold the error of the values, not the worth of the action.

    Evidence
        The mean prediction against the mean target, in the second half of the run or long
        before.

    Threshold and source
        Apart by more than half of the target and twice its deviation, or advantages whose
        mean exceeds 1.2 times their deviation (guess; close to it in healthy runs), or apart by
        0.4 of the target and of its deviation between 10 % and 60 % of the run (our labelled
        runs: at most 0.15 where healthy).

    Prescription
        A value clip above the scale of the returns or none, a higher rate for the values,
        rewards near one.

    Known false alarms
        Returns that change so fast that the values trail.

    References
        ray issues 2921 and 8908.
    """

    id = "VAL005"
    name = "values-far-from-targets"
    family = "value"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/roll/value_mean", "train/roll/return_mean")
    thresholds = {
        "share": Threshold(0.5, "guess"),
        "bias": Threshold(1.2, "guess"),
        "before": Threshold(0.4, "our labelled runs, 2026-11-16"),
    }
    expected = {
        "value-clip-too-tight": 0.85,
        "critic-too-weak": 0.8,
        "output-activation": 0.75,
        "value-lr-mismatch": 0.6,
        "lr-too-low": 0.6,
        "optimizer-choice": 0.6,
        "optimizer-eps": 0.5,
        "reward-scale-too-large": 0.6,
        "grad-clip-too-tight": 0.5,
        "shape-broadcast": 0.1,
        "returns-misaligned": 0.1,
        "features-frozen": 0.1,
        "gamma-too-high": 0.3,
        "network-too-small": 0.1,
        "weight-decay-too-strong": 0.4,
        "target-kl-too-tight": 0.6,
        "critic-dominates": 0.2,
        "lr-schedule-ends-early": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        value = median(run["train/roll/value_mean"], 0.5)
        target = median(run["train/roll/return_mean"], 0.5)
        spread = median(run["train/roll/return_std"], 0.5)
        gap = abs(value - target)
        mean, around = run["train/roll/adv_mean"], median(run["train/roll/adv_std"], 0.3)
        biased = size(mean, 0.3) > self.bound("bias") * around and size(mean, 0.3) > 0.1 * abs(
            target
        )
        before, aim, around = (
            median(run[f"train/roll/{name}"], 0.1, 0.6)
            for name in ("value_mean", "return_mean", "return_std")
        )
        slow = abs(before - aim) > self.bound("before") * max(abs(aim), around)
        if (
            not biased
            and not slow
            and not gap
            > max(self.bound("share") * abs(target), 2.0 * spread if spread == spread else 0.0)
        ):
            return None
        return self.found(
            f"Values are predicted as {value:.3g} and their targets are {target:.3g}.",
            "train/roll/value_mean",
            value=value,
            target=target,
        )
