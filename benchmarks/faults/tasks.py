"""Small tasks of the benchmark's own, cheap enough for hundreds of off-policy runs.

They differ in what rules must not depend on: the size and the sign of rewards, how episodes end,
how long they are. Each observes four numbers.
"""

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


class Follow(gym.Env):
    """A mass on a line: keep it beside a target that swings to and fro.

    Observation: position, velocity, the target's position and velocity. Reward: minus the squared
    distance, each step. Only the clock ends an episode, after 80 steps; the best return is near -5.
    """

    LIMIT, DT = 80, 0.1

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(3) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.x, self.v = self.np_random.uniform(-1.0, 1.0, 2).tolist()
        self.phase = float(self.np_random.uniform(0.0, 2.0 * math.pi))
        self.rate = float(self.np_random.uniform(0.5, 1.0))
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        push = float(int(action) - 1) if self.discrete else action.tolist()[0]
        self.t += 1
        self.v += 4.0 * self.DT * min(max(push, -1.0), 1.0)
        self.x = min(max(self.x + self.DT * self.v, -4.0), 4.0)
        observed = self._observe()
        return observed, -((self.x - self.goal) ** 2), False, self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        angle = self.phase + self.rate * self.DT * self.t
        self.goal = math.sin(angle)
        return np.array((self.x, self.v, self.goal, self.rate * math.cos(angle)), np.float32)


class Descent(gym.Env):
    """A craft that falls: brake with the engine and touch the ground gently.

    Observation: height, velocity, fuel that is left, whether the engine ran. Reward: -1 a step with
    the engine on; at the ground 100 for a speed below 0.5, less the faster it is, down to -100;
    -100 for leaving upwards. 120 steps are the limit; the best return is near 75.
    """

    LIMIT, DT = 120, 0.1

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.fuel, self.engine = 0, 1.0, 0.0
        self.height = float(self.np_random.uniform(3.0, 5.0))
        self.v = float(self.np_random.uniform(-1.0, 0.0))
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        self.engine = float(int(action)) if self.fuel > 0.0 else 0.0
        self.fuel = max(self.fuel - 0.01 * self.engine, 0.0)
        self.v += self.DT * (2.0 * self.engine - 1.0)
        self.height += self.DT * self.v
        down, away = self.height <= 0.0, self.height > 8.0
        reward = -self.engine
        if down:
            reward += max(100.0 - 100.0 * max(-self.v - 0.5, 0.0), -100.0)
        elif away:
            reward -= 100.0
        ended = down or away
        return self._observe(), reward, ended, not ended and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((self.height, self.v, self.fuel, self.engine), np.float32)


class Grid(gym.Env):
    """Squares of a board: walk to the goal, which lies elsewhere each time.

    Observation: own column and row, the goal's. Reward: -0.05 a step, 1 at the goal, which ends the
    episode; 40 steps are the limit. The best return is near 0.9.
    """

    LIMIT, SIDE = 40, 6
    MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(len(self.MOVES))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        here, goal = self.np_random.choice(self.SIDE**2, 2, replace=False).tolist()
        self.x, self.y = divmod(here, self.SIDE)
        self.goal = divmod(goal, self.SIDE)
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        right, up = self.MOVES[int(action)]
        self.t += 1
        self.x = min(max(self.x + right, 0), self.SIDE - 1)
        self.y = min(max(self.y + up, 0), self.SIDE - 1)
        there = (self.x, self.y) == self.goal
        reward = 1.0 if there else -0.05
        return self._observe(), reward, there, not there and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        half = (self.SIDE - 1) / 2.0
        return np.array((self.x, self.y, *self.goal), np.float32) / np.float32(half) - np.float32(1)
