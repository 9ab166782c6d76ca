"""ENV051."""

from __future__ import annotations

from dressage.diagnosis.look import median
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView


class RewardsComeLate(Rule):
    """Rewards belong to earlier steps.

    Why it hurts
        An action is praised or blamed for what others did before it; discounting and advantages
        over few steps never reach the right one.

    Evidence
        What a step explains of later rewards, beside what it explains of its own.

    Threshold and source
        Above 0.15 in the median over the run (guess: short runs gave medians up to 0.07 in eight
        tasks in time, and 0.17 to 0.95 in three with rewards 8 or 20 steps late; chosen with those
        numbers in view). It misses rewards that are nearly constant, as CartPole's and Acrobot's,
        and one step of delay where states change slowly, as Pendulum's (0.01 to 0.03).

    Prescription
        Pay a reward with the step that earned it; look for a queue or an index that is off.

    Known false alarms
        Observations of the step before look similar: the state that a reward is for is then seen a
        step later, or never. Rewards that are hardly explained at all, over short episodes.

    References
        Least squares over single steps: see the metric train/roll/reward_late.
    """

    id = "ENV051"
    name = "rewards-come-late"
    family = "environment"
    severity = "high"
    needs = ("train/roll/reward_late",)
    thresholds = {"late": Threshold(0.15, "guess")}
    elsewhere = 0.01
    expected = {
        "reward-misaligned": 0.85,
        "obs-stale": 0.2,
        "sparse-reward": 0.1,
        "healthy": 0.01,
    }

    def check(self, run: RunView) -> Finding | None:
        late = median(run["train/roll/reward_late"])
        if not late > self.bound("late"):
            return None
        return self.found(
            f"Steps explain {late:.0%} more of a later reward’s variance than of their own.",
            "train/roll/reward_late",
            late=late,
        )
