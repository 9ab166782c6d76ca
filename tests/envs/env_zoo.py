"""Small environments for the tests, also imported by worker processes as env_zoo:Name."""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Walk(gym.Env):
    """A random walk whose noise comes from the seed; parts of it can be made to misbehave."""

    def __init__(self, noise: str = "seeded", fail_at: int = -1, sleep: float = 0.0) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = spaces.Discrete(3, start=-1)
        self.noise, self.fail_at, self.sleep = noise, fail_at, sleep
        self.episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.position = 0, self.np_random.normal(size=3)
        self.episodes += 1
        if self.noise == "hidden":
            self.position = self.position + self.episodes
        return self.position.copy(), {}

    def step(self, action: int) -> Any:
        assert self.action_space.contains(action)
        self.t += 1
        if self.t == self.fail_at:
            raise RuntimeError("the floor gave way")
        if self.sleep:
            time.sleep(self.sleep)
        rng = np.random if self.noise == "global" else self.np_random
        self.position = self.position + action * 0.1 + rng.normal(size=3)
        terminated = bool(abs(self.position[0]) > 3)
        info = {"is_success": self.position[0] > 3} if terminated else {}
        return self.position.copy(), float(self.position[1]), terminated, self.t >= 40, info


class Remembering(Walk):
    """State across episodes, declared by the protocol."""

    def __init__(self) -> None:
        super().__init__(noise="hidden")

    def state_dict(self) -> dict[str, Any]:
        return {"episodes": self.episodes, "label": "walk", "array": np.arange(3)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        assert state["label"] == "walk"
        assert state["array"].tolist() == [0, 1, 2]
        self.episodes = state["episodes"]


class Masked(Walk):
    def action_masks(self) -> Any:
        return np.array([self.t % 2 == 0, True, self.t % 3 == 0])


class Hybrid(gym.Env):
    """Dict observation with an image; Dict action with every kind."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "camera": spaces.Box(0, 255, (12, 10, 3), np.uint8),
                "pair": spaces.Tuple((spaces.Discrete(3, start=2), spaces.MultiBinary(2))),
                "state": spaces.Box(-1, 1, (2, 2), np.float32),
            }
        )
        self.action_space = spaces.Dict(
            {
                "force": spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 10.0]), dtype=np.float64),
                "gear": spaces.Discrete(4),
                "keys": spaces.MultiBinary(2),
            }
        )

    def _observe(self) -> Any:
        return {
            "camera": self.np_random.integers(0, 255, (12, 10, 3), dtype=np.uint8),
            "pair": (np.int64(2 + self.t % 3), np.array([1, 0], np.int8)),
            "state": self.np_random.random((2, 2), dtype=np.float32),
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        self.t += 1
        return self._observe(), float(action["force"][1]), False, self.t >= 15, {}


class Slow(Walk):
    def step(self, action: int) -> Any:
        time.sleep(0.002)
        return super().step(action)


class Dies(Walk):
    def step(self, action: int) -> Any:
        os._exit(7)


def make_walk(noise: str = "seeded") -> gym.Env:
    return Walk(noise)


def make_vector(n: int) -> Any:
    disabled = gym.vector.AutoresetMode.DISABLED
    return gym.vector.SyncVectorEnv([Walk] * n, autoreset_mode=disabled)


not_an_env = 3
