"""Small environments with goals, for hindsight experience replay: `dressage.envs.goals:BitFlip`.

Observations are a Dict of `observation`, `achieved_goal` and `desired_goal`; `compute_reward` and
`compute_terminated` work on single goals and on arrays of them, as gymnasium-robotics' do.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class BitFlip(gym.Env):  # type: ignore[misc]
    """Turn one row of bits into another by flipping one at a time; -1 a step until it is done.

    Andrychowicz et al. 2017, section 3.1. An episode has as many steps as there are bits; with 12
    of them, chance hardly ever meets the goal, and nothing is learned without hindsight.
    """

    def __init__(self, bits: int = 8) -> None:
        self.bits = bits
        row = spaces.MultiBinary(bits)
        self.observation_space = spaces.Dict(
            {"observation": row, "achieved_goal": row, "desired_goal": row}
        )
        self.action_space = spaces.Discrete(bits)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.state, self.goal = self.np_random.integers(0, 2, (2, self.bits), np.int8)
        while (self.state == self.goal).all():
            self.goal = self.np_random.integers(0, 2, self.bits, np.int8)
        return self._observe(), {}

    def _observe(self) -> dict[str, Any]:
        state = self.state.copy()
        return {"observation": state, "achieved_goal": state, "desired_goal": self.goal}

    def step(self, action: Any) -> Any:
        self.t += 1
        self.state[int(action)] ^= 1
        obs = self._observe()
        reward = float(self.compute_reward(obs["achieved_goal"], self.goal, {}))
        done = bool(self.compute_terminated(obs["achieved_goal"], self.goal, {}))
        return obs, reward, done, not done and self.t >= self.bits, {"is_success": done}

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        return self.compute_terminated(achieved_goal, desired_goal, info) - 1.0

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        return np.all(np.equal(achieved_goal, desired_goal), axis=-1)


class Reach(gym.Env):  # type: ignore[misc]
    """Move a point on a plane to a goal and hold it there: -1 a step away from it, 0 at it.

    The point has a velocity, which actions push; episodes have 50 steps and nothing ends them
    before, as in the Fetch tasks. The best return is about -8.
    """

    NEAR, LIMIT = 0.1, 50

    def __init__(self) -> None:
        place = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = spaces.Dict(
            {
                "observation": spaces.Box(-1.0, 1.0, (4,), np.float32),
                "achieved_goal": place,
                "desired_goal": place,
            }
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.velocity = 0, np.zeros(2, np.float32)
        self.place, self.goal = self.np_random.uniform(-1, 1, (2, 2)).astype(np.float32)
        return self._observe(), {}

    def _observe(self) -> dict[str, Any]:
        return {
            "observation": np.concatenate((self.place, self.velocity)),
            "achieved_goal": self.place,
            "desired_goal": self.goal,
        }

    def step(self, action: Any) -> Any:
        self.t += 1
        push = np.asarray(action, np.float32)
        self.velocity = np.clip(0.8 * self.velocity + 0.05 * push, -1, 1).astype(np.float32)
        self.place = np.clip(self.place + self.velocity, -1, 1).astype(np.float32)
        reward = float(self.compute_reward(self.place, self.goal, {}))
        info = {"is_success": reward == 0.0}
        return self._observe(), reward, False, self.t >= self.LIMIT, info

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        distance = np.linalg.norm(np.subtract(achieved_goal, desired_goal), axis=-1)
        return (distance < self.NEAR) - 1.0

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        return np.zeros(np.shape(achieved_goal)[:-1], bool)
