"""ENV011."""

from __future__ import annotations

from dressage.diagnosis.look import median, task
from dressage.diagnosis.rule import Finding, Rule, Threshold
from dressage.runs.view import RunView

# Steps after which Gymnasium truncates, by its registry.
LIMITS = {
    "CartPole": 500,
    "Acrobot": 500,
    "MountainCar": 200,
    "MountainCarContinuous": 999,
    "Pendulum": 200,
    "LunarLander": 1000,
    "LunarLanderContinuous": 1000,
    "BipedalWalker": 1600,
    "InvertedPendulum": 1000,
    "HalfCheetah": 1000,
    "Hopper": 1000,
    "Walker2d": 1000,
    "Ant": 1000,
}


class EpisodesCutShort(Rule):
    """The clock ends episodes long before the environment’s own limit.

    Why it hurts
        What takes longer than that is never seen, nor rewarded.

    Evidence
        The length at which episodes are truncated, against the limit that the environment
        is registered with.

    Threshold and source
        Over half of the late episodes cut at below 60 % of that limit (guess).

    Prescription
        The environment’s own limit, or a longer one.

    Known false alarms
        Limits that are shortened on purpose for a curriculum.

    References
        Gymnasium’s registry; RLExplorer.
    """

    id = "ENV011"
    name = "episodes-cut-short"
    family = "environment"
    severity = "high"
    needs = ("train/roll/truncated_share", "train/roll/ep_len_mean")
    thresholds = {"share": Threshold(0.6, "guess")}
    expected = {
        "episode-limit-too-short": 0.9,
        "time-limit-hidden": 0.3,
        "env-not-reset": 0.1,
        "truncation-as-termination": 0.05,
        "healthy": 0.003,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and task(run) in LIMITS

    def check(self, run: RunView) -> Finding | None:
        limit = LIMITS.get(task(run))
        cut, length = (
            median(run["train/roll/truncated_share"], 0.5),
            median(run["train/roll/ep_len_mean"], 0.5),
        )
        if limit is None or not (cut > 0.5 and length < self.bound("share") * limit):
            return None
        return self.found(
            f"{cut:.0%} of the late episodes are cut after about {length:.0f} steps; "
            f"{run.env} allows "
            f"{limit}.",
            "train/roll/ep_len_mean",
            length=length,
        )
