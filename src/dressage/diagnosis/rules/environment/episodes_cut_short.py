"""ENV011."""

from __future__ import annotations

import numpy as np

from dressage.diagnosis.look import FEWEST, task
from dressage.diagnosis.rule import Finding, Rule, Threshold, TooLittle
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
        The lengths of truncated episodes, against the limit that the environment is
        registered with.

    Threshold and source
        The longest of five or more below 60 % of that limit (guess).

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
    thresholds = {"share": Threshold(0.6, "guess")}
    elsewhere = 0.01
    expected = {
        "episode-limit-too-short": 0.9,
        "time-limit-hidden": 0.3,
        "env-not-reset": 0.1,
        "truncation-as-termination": 0.05,
        "healthy": 0.003,
    }

    def can_see(self, run: RunView) -> bool:
        return super().can_see(run) and task(run) in LIMITS and run.episodes.ended is not None

    def check(self, run: RunView) -> Finding | None:
        limit = LIMITS.get(task(run))
        ended = run.episodes.ended
        if limit is None or ended is None:
            return None
        cut = run.episodes.lengths[ended == "truncated"]
        length = float(np.max(cut, initial=0.0))
        if len(cut) < FEWEST:
            raise TooLittle
        if not length < self.bound("share") * limit:
            return None
        return self.found(
            f"{len(cut)} episodes are cut after at most {length:.0f} steps; {run.env} "
            f"allows {limit}.",
            "train/roll/ep_len_mean",
            length=length,
        )
