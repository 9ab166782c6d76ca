"""More small tasks, all of the test split: what was made on the others is to hold on them too.

A process with lags, steered to a set point, and a car that has to look ahead.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np


class Tanks(gym.Env):
    """Two tanks, one above the other: pump into the first so that the second stays at a mark.

    The first drains into the second, and the pump takes a while to follow. Observation: both
    levels, the mark, the pump's flow. Reward: 1 less twice the distance to the mark, each step;
    -10 and the end for a tank that flows over. The clock ends an episode after 50 steps, so the
    best return is near 46.
    """

    LIMIT, DT, FULL = 50, 0.25, 1.8
    STRONGEST, PUMPS = 2.0, 4

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(self.PUMPS) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.upper, self.lower = self.np_random.uniform(0.2, 1.4, 2).tolist()
        self.mark = float(self.np_random.uniform(0.3, 1.4))
        self.flow = float(self.np_random.uniform(0.0, self.STRONGEST))
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        if self.discrete:
            share = int(action) / (self.PUMPS - 1)
        else:
            share = 0.5 + 0.5 * min(max(action.tolist()[0], -1.0), 1.0)
        self.t += 1
        self.flow += 0.5 * (self.STRONGEST * share - self.flow)
        between = math.sqrt(self.upper)
        drained = 0.8 * math.sqrt(self.lower)
        self.upper = max(self.upper + self.DT * (self.flow - between), 0.0)
        self.lower = max(self.lower + self.DT * (between - drained), 0.0)
        over = max(self.upper, self.lower) > self.FULL
        reward = -10.0 if over else 1.0 - 2.0 * abs(self.lower - self.mark)
        return self._observe(), reward, over, not over and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((self.upper, self.lower, self.mark, self.flow), np.float32)


class Lane(gym.Env):
    """A car on a road that winds: steer so that it stays in its lane.

    Observation: how far it is from the middle, its heading against the lane's, its speed, how much
    the road bends here and a little ahead. Reward: 0.3 a step at middle speed, less the further off
    the middle it is. Leaving the lane ends the episode; 100 steps are the limit; the best return is
    near 29.
    """

    LIMIT, DT, EDGE, AHEAD = 100, 0.2, 1.0, 0.8
    STEERS = (-1.0, -0.5, 0.0, 0.5, 1.0)

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(len(self.STEERS)) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.offset, self.heading = self.np_random.uniform(-0.3, 0.3, 2).tolist()
        self.speed = float(self.np_random.uniform(0.8, 1.2))
        self.most = float(self.np_random.uniform(0.5, 1.0))  # in the sharpest bend
        self.place = float(self.np_random.uniform(0.0, 2.0 * math.pi))
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        steer = self.STEERS[int(action)] if self.discrete else action.tolist()[0]
        self.t += 1
        way = self.DT * self.speed
        self.heading += way * (2.0 * min(max(steer, -1.0), 1.0) - self.bend)
        self.offset += way * math.sin(self.heading)
        self.place += way
        left = abs(self.offset) > self.EDGE
        reward = 0.3 * self.speed * math.cos(self.heading) * (1.0 - 0.7 * abs(self.offset))
        return self._observe(), reward, left, not left and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        self.bend = self.most * math.sin(self.place)
        ahead = self.most * math.sin(self.place + self.AHEAD)
        return np.array((self.offset, self.heading, self.speed, self.bend, ahead), np.float32)
