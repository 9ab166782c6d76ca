"""A clean setting: an algorithm, an environment and hyperparameters with which it learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Setting:
    name: str
    split: Split
    algo: str
    env: str
    config: dict[str, Any]  # overrides of the algorithm's defaults; the budget among them
    unfinished: bool = False  # it still learns when it ends: "undertrained" is right too

    @property
    def env_steps(self) -> int:
        return int(self.config["env_steps"])

    @property
    def kind(self) -> str:
        """What faults it can have: on-policy with choices or numbers, value-based, actor-critic."""
        if self.algo in ("ppo", "a2c", "reinforce"):
            given = self.config.get("env_kwargs")
            continuous = (
                self.env in (*CONTINUOUS, FOLLOW, BALANCE)
                or given == BOX
                or (self.env in BOX_UNLESS_TOLD and not given)
            )
            return "on-policy-continuous" if continuous else "on-policy-discrete"
        return "actor-critic" if self.algo in ("sac", "td3", "ddpg", "tqc") else "value-based"


BOX = {"action": "box"}
CONTINUOUS = ("Pendulum-v1", "InvertedPendulum-v5")
IDENTITY = "dressage.envs.toys:Identity"
POINT_MASS = "benchmarks.faults.tasks:PointMass"
TANKS = "benchmarks.faults.tasks_test:Tanks"
LANE = "benchmarks.faults.tasks_test:Lane"
BOX_UNLESS_TOLD = (POINT_MASS, TANKS, LANE)
FOLLOW = "benchmarks.faults.tasks:Follow"
DESCENT = "benchmarks.faults.tasks:Descent"
GRID = "benchmarks.faults.tasks:Grid"
BALANCE = "benchmarks.faults.training_tasks:Balance"
CATCH = "benchmarks.faults.training_tasks:Catch"
SWING = "benchmarks.faults.training_tasks:Swing"
GUESS = "benchmarks.faults.training_tasks:Guess"
OFFERS = "benchmarks.faults.training_tasks:Offers"
SORTING = "benchmarks.faults.training_tasks:Sorting"
AIM = "benchmarks.faults.training_tasks:Aim"
FURNACE = "benchmarks.faults.training_tasks:Furnace"
DIAL = "benchmarks.faults.training_tasks:Dial"
DOCK = "benchmarks.faults.training_tasks:Dock"

# Twin critics of two layers of 64 on small batches: a few seconds a run.
SMALL_OFF: dict[str, Any] = {
    "net_arch": [64, 64],
    "batch_size": 64,
    "learning_rate": 1e-3,
    "buffer_size": 50_000,
    "learning_starts": 500,
}
VALUES: dict[str, Any] = {
    "net_arch": [64, 64],
    "batch_size": 64,
    "buffer_size": 50_000,
    "learning_starts": 500,
}
