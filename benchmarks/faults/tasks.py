"""A small task of the benchmark's own, cheap enough for hundreds of off-policy runs."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

FORCES = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], np.float32)


class PointMass(gym.Env):
    """A mass on a plane: push it to the middle and keep it there.

    Observation: position and velocity. Reward: 1 less the distance, each step; -10 and the end for
    leaving the plane. The clock ends an episode after 60 steps, so the best return is near 50.
    """

    LIMIT, EDGE, DT = 60, 2.0, 0.1

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        box = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = box if action == "box" else gym.spaces.Discrete(len(FORCES))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.position = self.np_random.uniform(-1.2, 1.2, 2)
        self.velocity = self.np_random.uniform(-0.5, 0.5, 2)
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        continuous = isinstance(self.action_space, gym.spaces.Box)
        force = np.clip(action, -1.0, 1.0) if continuous else FORCES[int(action)]
        self.t += 1
        self.velocity = self.velocity + 3.0 * self.DT * force
        self.position = self.position + self.DT * self.velocity
        distance = float(np.hypot(*self.position))
        left = bool(np.abs(self.position).max() > self.EDGE)
        reward = -10.0 if left else 1.0 - distance
        return self._observe(), reward, left, not left and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.concatenate([self.position, self.velocity]).astype(np.float32)
