"""EXP033."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, median, part, start
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class TemperatureNeverFell(Rule):
    """The temperature is learned, and is where it began.

    Why it hurts
        The policy is as random as it was told to be at first, or its entropy is never above the
        target.

    Evidence
        The temperature late in the run beside its start.

    Threshold and source
        Above nine tenths of it (our labelled runs, 2026-11-17: one healthy run in nine).

    Prescription
        More updates, a higher rate, rewards near one.

    Known false alarms
        A fixed temperature is not looked at; a reward that grows with the policy.

    References
        Haarnoja et al. 2018, section 5.
    """

    id = "EXP033"
    name = "temperature-never-fell"
    family = "exploration"
    severity = "medium"
    stands_in = True
    needs = ("train/metrics/alpha",)
    families = ("actor-critic",)
    thresholds = {"share": Threshold(0.9, "our labelled runs, 2026-11-17")}
    elsewhere = 0.2
    expected = {
        "updates-starved": 0.6,
        "reward-scale-too-large": 0.6,
        "lr-too-low": 0.6,
        "updates-too-few": 0.68,
        "bad-initialisation": 0.6,
        "obs-unnormalised": 0.65,
        "healthy": 0.111,
    }

    def check(self, run: RunView) -> Finding | None:
        temperature = run["train/metrics/alpha"]
        known, first, late = part(temperature), start(temperature), median(temperature, 0.8)
        if len(known) < FEWEST:
            raise TooLittle
        if known.min() == known.max() or not first > 0.0:
            return None
        if not late > self.bound("share") * first:
            return None
        return self.found(
            f"The temperature was {first:.3g} and is {late:.3g}.",
            "train/metrics/alpha",
            first=first,
            late=late,
        )
