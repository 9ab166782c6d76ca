"""EVA005."""

from __future__ import annotations

from dressage.diagnosis.look import end, learned, median, returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class SuccessFlatWhileReturnRises(Rule):
    """The return rises and the task is not solved more often.

    Why it hurts
        The reward is earned in a way that was not meant.

    Evidence
        The success rate beside the return.

    Threshold and source
        A return that is learned with a success rate that gains less than 0.05 and stays
        below 0.2 (guess).

    Prescription
        Reward what is wanted; end episodes that stall.

    Known false alarms
        Tasks whose success comes long after the first rise.

    References
        Amodei et al. 2016, “Concrete problems in AI safety”.
    """

    id = "EVA005"
    name = "success-flat-while-return-rises"
    family = "evaluation"
    severity = "high"
    either = ("train/roll/success_rate", "val/roll/success_rate")
    thresholds = {"gain": Threshold(0.05, "guess")}
    elsewhere = 0.01
    expected = {
        "reward-hacking": 0.9,
        "sparse-reward": 0.05,
        "budget-too-small": 0.1,
        "logged-reward-normalised": 0.05,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        rate = run["train/roll/success_rate"] or run["val/roll/success_rate"]
        first, last = median(rate, 0.0, 0.3), median(rate, 0.7)
        if not (last < 0.2 and last - first < self.bound("gain")) or not learned(run):
            return None
        curve = returns(run)
        return self.found(
            f"The return rose from {start(curve):.4g} to {end(curve):.4g} and the success rate is "
            f"{last:.0%}.",
            "train/roll/success_rate",
            success=last,
        )
