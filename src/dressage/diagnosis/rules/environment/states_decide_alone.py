"""ENV033."""

from __future__ import annotations

from dressage.diagnosis.look import beginning, done, early_spread, median, returns, start
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class StatesDecideAlone(Rule):
    """Returns follow from the states, though actions are still drawn at random.

    Why it hurts
        If chance in the actions leaves no trace in what follows, the actions do nothing.

    Evidence
        The explained variance and the entropy of the policy, where the return does not rise.

    Threshold and source
        Over 99 % explained with at least half of the first entropy (our labelled runs, 2026-11-16:
        99.8 % with bounds that leave no room).

    Prescription
        Look at what the environment does with an action: its bounds, its scale, its order.

    Known false alarms
        Discounts so low that a value is the next reward.

    References
        The causes action-space-degenerate and action-range-unnormalised.
    """

    id = "ENV033"
    name = "states-decide-alone"
    family = "environment"
    severity = "high"
    families = ("on-policy",)
    needs = ("train/metrics/explained_variance", "train/metrics/entropy")
    thresholds = {"explained_variance": Threshold(0.99, "our labelled runs, 2026-11-16")}
    elsewhere = 0.02
    expected = {
        "action-space-degenerate": 0.9,
        "action-range-unnormalised": 0.9,
        "action-delay": 0.3,
        "gamma-too-low": 0.4,
        "action-ignored": 0.05,
        "healthy": 0.002,
    }

    def check(self, run: RunView) -> Finding | None:
        explained, entropy = (
            median(run["train/metrics/explained_variance"], 0.4),
            run["train/metrics/entropy"],
        )
        first, late = start(entropy), median(entropy, 0.4)
        if not explained > self.bound("explained_variance") or done(run):
            return None
        kept = late > first - 0.7 if run["train/metrics/action_std"] else late > 0.5 * first
        gain = median(returns(run), 0.7) - beginning(run)
        if not kept or not gain < early_spread(run):
            return None
        return self.found(
            f"Values explain {explained:.2%} of the returns, with an entropy of {late:.3g} nats, "
            f"{first:.3g} at first.",
            "train/metrics/explained_variance",
            explained_variance=explained,
        )
