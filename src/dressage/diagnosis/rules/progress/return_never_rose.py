"""PRO001."""

from __future__ import annotations

from dressage.diagnosis.look import early_spread, median, part, returns
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class ReturnNeverRose(Rule):
    """The return is where it was at the start.

    Why it hurts
        Nothing has been learned.

    Evidence
        The median return of the last third of the run against that of the first, beside the spread
        of single episodes at the start.

    Threshold and source
        A rise below half of that spread (guess).

    Prescription
        See the other symptoms: this one says that there is something to find.

    Known false alarms
        Runs that begin solved.

    References
        RLExplorer looks for returns that do not vary.
    """

    id = "PRO001"
    name = "return-never-rose"
    family = "progress"
    severity = "critical"
    needs = ()
    thresholds = {"deviations": Threshold(0.5, "guess")}
    expected = {
        "lr-too-low": 0.9,
        "dead-policy-gradient": 0.95,
        "optimizer-choice": 0.9,
        "optimizer-eps": 0.85,
        "sparse-reward": 0.9,
        "reward-uninformative": 0.8,
        "obs-constant": 0.8,
        "obs-stale": 0.5,
        "action-ignored": 0.85,
        "policy-loss-sign": 0.6,
        "entropy-bonus-too-high": 0.6,
        "learning-never-starts": 0.95,
        "no-exploration": 0.8,
        "lr-too-high": 0.5,
        "returns-misaligned": 0.6,
        "entropy-collapse": 0.5,
        "healthy": 0.01,
        "budget-too-small": 0.15,
    }

    def check(self, run: RunView) -> Finding | None:
        series = returns(run)
        if len(part(series)) < 10:
            return None
        early, late = median(series, 0.0, 0.3), median(series, 0.7)
        if late - early > self.thresholds["deviations"].value * early_spread(run):
            return None
        return self.found(
            f"The return was {early:.4g} in the first third of the run and is {late:.4g} in the "
            "last.",
            "train/roll/ep_rew_mean",
            return_early=early,
            return_late=late,
        )
