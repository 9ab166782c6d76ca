"""A plain Python environment of about 20 microseconds a step: a point that seeks the origin."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np

STEP_SECONDS = 20e-6  # the body of `step`, by the clock
EPISODE_STEPS = 200


class PointMass(gym.Env):
    """Force in [-1, 1]^2, damped motion, reward minus the distance; 200 steps."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.y = (float(v) for v in self.np_random.uniform(-1.0, 1.0, 2))
        self.vx = self.vy = 0.0
        self.elapsed = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        until = time.perf_counter() + STEP_SECONDS
        fx, fy = float(action[0]), float(action[1])
        self.vx, self.vy = 0.95 * self.vx + 0.05 * fx, 0.95 * self.vy + 0.05 * fy
        self.x, self.y = self.x + 0.1 * self.vx, self.y + 0.1 * self.vy
        self.elapsed += 1
        reward = -((self.x**2 + self.y**2) ** 0.5)
        observation = self._observe()
        while time.perf_counter() < until:  # a real one would compute something here
            pass
        return observation, reward, False, self.elapsed >= EPISODE_STEPS, {}

    def _observe(self) -> np.ndarray:
        return np.array((self.x, self.y, self.vx, self.vy), np.float32)
