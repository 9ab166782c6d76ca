"""VAL016."""

from __future__ import annotations

from dressage.diagnosis.look import median, size
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class TargetsOutOfStep(Rule):
    """The target network is the network itself, or far behind it.

    Why it hurts
        A target that moves with the network is chased in circles; one that stays behind
        teaches what is long past.

    Evidence
        The mean difference between the network’s values and its target’s, over the size of
        the values, in the second half.

    Threshold and source
        Above 0.3 and more than the TD error, or below 1e-4, of action values with an
        overestimate of over a fifth as well (guess; 0.02 in healthy runs of ours).

    Prescription
        tau 0.005, or a copy every 250 to 10,000 env steps.

    Known false alarms
        Values near zero.

    References
        Lillicrap et al. 2016; muPRL.
    """

    id = "VAL016"
    name = "targets-out-of-step"
    family = "value"
    severity = "medium"
    families = ("value-based", "actor-critic")
    needs = ("train/metrics/target_drift", "train/metrics/q_mean")
    thresholds = {"high": Threshold(0.3, "guess"), "low": Threshold(0.0001, "guess")}
    elsewhere = 0.02
    expected = {
        "target-tau-extreme": 0.8,
        "target-updates-too-rarely": 0.7,
        "lr-too-high": 0.35,
        "q-divergence": 0.35,
        "sac-alpha-explodes": 0.2,
        "terminal-not-stored": 0.1,
        "updates-too-few": 0.2,
        "td-target-wrong": 0.15,
        "reward-sign-flipped": 0.02,
        "updates-starved": 0.2,
        "target-updates-too-often": 0.6,
        "replay-corrupted": 0.1,
        "healthy": 0.02,
    }

    def check(self, run: RunView) -> Finding | None:
        drift, values = (
            median(run["train/metrics/target_drift"], 0.4),
            size(run["train/metrics/q_mean"], 0.4),
        )
        if not values > 0:
            return None
        share = drift / values
        same = share < self.bound("low")
        if run.family == "value-based":
            # A copy at the end of each round leaves no difference either, and does no harm.
            gap = median(run["train/metrics/q_gap"], 0.1, 0.7) / size(
                run["train/metrics/q_mean"], 0.1, 0.7
            )
            same = same and gap > 0.2
        error = median(run["train/metrics/td_error_mean"], 0.4)
        behind = share > self.bound("high") and not drift < error  # else the values are small
        if not (behind or same):
            return None
        return self.found(
            f"The target network differs by {drift:.3g} from values of {values:.3g}: {share:.2%}.",
            "train/metrics/target_drift",
            share=share,
        )
