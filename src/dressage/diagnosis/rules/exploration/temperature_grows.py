"""EXP013."""

from __future__ import annotations

from dressage.diagnosis.look import FEWEST, median, part, rises
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
from dressage.runs.view import RunView


class TemperatureGrows(Rule):
    """The entropy temperature grows without end.

    Why it hurts
        The bonus then drowns the reward, and the values follow the bonus.

    Evidence
        The temperature in force, late against its lowest.

    Threshold and source
        Above 10, or 100 times its lowest, and rising (guess; 5.6e8 in rlkit issue 50).

    Prescription
        target_entropy = minus the number of action dimensions; for choices, below ln n.

    Known false alarms
        Rewards that grow by orders of magnitude during a run.

    References
        rlkit issue 50.
    """

    id = "EXP013"
    name = "temperature-grows"
    family = "exploration"
    severity = "critical"
    families = ("actor-critic",)
    needs = ("train/metrics/alpha",)
    thresholds = {"alpha": Threshold(10.0, "guess"), "times": Threshold(100.0, "guess")}
    elsewhere = 0.01
    expected = {
        "sac-alpha-explodes": 0.95,
        "q-divergence": 0.25,
        "reward-scale-too-large": 0.4,
        "lr-too-high": 0.3,
        "terminal-not-stored": 0.1,
        "td-target-wrong": 0.2,
        "healthy": 0.005,
    }

    def check(self, run: RunView) -> Finding | None:
        alpha = run["train/metrics/alpha"]
        values = part(alpha)
        late = median(alpha, 0.9)
        if len(values) < 2 * FEWEST:
            raise TooLittle
        if not rises(alpha, 0.5):
            return None
        lowest = max(float(values.min()), 1e-6)
        if not (late > self.bound("alpha") or (late > self.bound("times") * lowest and late > 1.0)):
            return None
        return self.found(
            f"The temperature rose from {lowest:.3g} to {late:.3g}.",
            "train/metrics/alpha",
            alpha_late=late,
        )
