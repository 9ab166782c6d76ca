"""A small task of the benchmark's own, cheap enough for hundreds of off-policy runs."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np

FORCES = ((0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))


class PointMass(gym.Env):
    """A mass on a plane: push it to the middle and keep it there.

    Observation: position and velocity. Reward: 1 less the distance, each step; -10 and the end for
    leaving the plane. The clock ends an episode after 60 steps, so the best return is near 50.
    """

    LIMIT, EDGE, DT = 60, 2.0, 0.1

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(len(FORCES)) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.x, self.y = self.np_random.uniform(-1.2, 1.2, 2).tolist()
        self.u, self.v = self.np_random.uniform(-0.5, 0.5, 2).tolist()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        # plain numbers: numpy takes ten times as long for two of them
        right, up = FORCES[int(action)] if self.discrete else action.tolist()
        self.t += 1
        self.u += 3.0 * self.DT * min(max(right, -1.0), 1.0)
        self.v += 3.0 * self.DT * min(max(up, -1.0), 1.0)
        self.x += self.DT * self.u
        self.y += self.DT * self.v
        left = max(abs(self.x), abs(self.y)) > self.EDGE
        reward = -10.0 if left else 1.0 - math.hypot(self.x, self.y)
        return self._observe(), reward, left, not left and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((self.x, self.y, self.u, self.v), np.float32)
