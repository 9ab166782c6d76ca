"""EXP008."""

from __future__ import annotations

from dressage.diagnosis.look import in_force
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class EpsilonStartsLow(Rule):
    """There are hardly any random actions at the start.

    Why it hurts
        The first values are random: a greedy policy then repeats one action.

    Evidence
        The share of random actions in force in the first rows.

    Threshold and source
        Below 0.2 (guess; 1 is usual [RX]).

    Prescription
        epsilon from 1 to 0.05 over 10 to 20 % of the budget.

    Known false alarms
        Networks with noise of their own (noisy, bootstrapped), for which epsilon is 0.

    References
        RLExplorer.
    """

    id = "EXP008"
    name = "epsilon-starts-low"
    family = "exploration"
    severity = "high"
    families = ("value-based",)
    either = ("train/hp/epsilon", "epsilon")
    thresholds = {"share": Threshold(0.2, "guess")}
    arithmetic = True
    elsewhere = 0.0005
    expected = {
        "no-exploration": 0.95,
        "epsilon-decays-too-fast": 0.35,
        "resume-lost-state": 0.02,
        "healthy": 0.001,
    }

    def check(self, run: RunView) -> Finding | None:
        first = in_force(run, "epsilon", "train/hp/epsilon")
        if not first < self.bound("share") or run.config.get("noisy") is True:
            return None
        if run.algo in ("rainbow", "bootstrapped_dqn"):
            return None
        return self.found(
            f"The share of random actions begins at {first:.2g}; 1 is usual.",
            "train/hp/epsilon",
            epsilon_start=first,
        )
