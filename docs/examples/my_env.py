"""A corridor: walk right to the goal. Walls mask the actions that lead into them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    """Starts at a random cell of the left half; each step costs 0.1, the goal gives 1."""

    def __init__(self, length: int = 8, time_limit: int = 50) -> None:
        self.length, self.time_limit = length, time_limit
        self.observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(2)  # 0: left, 1: right
        self.cell = self.clock = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)  # seeds self.np_random, the only source of chance
        self.cell = int(self.np_random.integers(self.length // 2))
        self.clock = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.cell += 1 if action == 1 else -1
        self.clock += 1
        terminated = self.cell == self.length - 1  # the task ended
        truncated = self.clock >= self.time_limit  # the clock ended
        info = {"is_success": terminated} if terminated or truncated else {}
        return self._observe(), (1.0 if terminated else 0.0) - 0.1, terminated, truncated, info

    def action_masks(self) -> Any:
        """True = allowed."""
        return np.array([self.cell > 0, True])

    def _observe(self) -> Any:
        return np.array([self.cell / (self.length - 1)], np.float32)
