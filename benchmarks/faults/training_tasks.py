"""More small tasks, all of the training split: other rewards, other ends, other observations.

Rules that were made on few environments misfire on the next, so rates are counted on many.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np


class Balance(gym.Env):
    """A stick on a finger: push so that it stays up.

    Observation: angle, its velocity, the last push. Reward: 1 a step. A stick that leans by more
    than 0.3 has fallen, which ends the episode; 150 steps are the limit and the best return.
    """

    LIMIT, DT, FALLEN = 150, 0.05, 0.3

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(3) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.push = 0, 0.0
        self.angle, self.v = self.np_random.uniform(-0.1, 0.1, 2).tolist()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        push = float(int(action) - 1) if self.discrete else action.tolist()[0]
        self.push = min(max(push, -1.0), 1.0)
        self.t += 1
        self.v += self.DT * (9.0 * math.sin(self.angle) + 4.0 * self.push)
        self.angle += self.DT * self.v
        fallen = abs(self.angle) > self.FALLEN
        return self._observe(), 1.0, fallen, not fallen and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((self.angle, self.v, self.push), np.float32)


class Catch(gym.Env):
    """A ball falls slantwise between two walls: be under it when it comes down.

    Observation: the ball's column and row, its drift, the paddle's column. Reward: 1 for a catch,
    -1 for a miss, nothing before; an episode is one ball, 10 steps.
    """

    ROWS, COLUMNS = 10, 9

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.row = 0
        self.ball, self.paddle = self.np_random.integers(0, self.COLUMNS, 2).tolist()
        self.drift = int(self.np_random.integers(-1, 2))
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        wall = self.COLUMNS - 1
        self.paddle = min(max(self.paddle + int(action) - 1, 0), wall)
        if not 0 <= self.ball + self.drift <= wall:
            self.drift = -self.drift
        self.ball += self.drift
        self.row += 1
        down = self.row >= self.ROWS
        reward = (1.0 if self.ball == self.paddle else -1.0) if down else 0.0
        return self._observe(), reward, down, False, {}

    def _observe(self) -> Any:
        wall = (self.COLUMNS - 1) / 2.0
        return np.array(
            (
                self.ball / wall - 1.0,
                2.0 * self.row / self.ROWS - 1.0,
                self.drift,
                self.paddle / wall - 1.0,
            ),
            np.float32,
        )


class Swing(gym.Env):
    """A child on a swing: pump until it goes high enough.

    Observation: sine and cosine of the angle, its velocity. Reward: -1 a step until the swing is
    above the bar, which ends the episode; 120 steps are the limit; the best return is near -25.
    """

    LIMIT, DT, BAR = 120, 0.1, -0.3

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.angle, self.v = self.np_random.uniform(-0.2, 0.2, 2).tolist()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        self.v += self.DT * (-4.0 * math.sin(self.angle) + 1.5 * (int(action) - 1) - 0.02 * self.v)
        self.angle += self.DT * self.v
        there = -math.cos(self.angle) > self.BAR
        return self._observe(), -1.0, there, not there and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((math.sin(self.angle), math.cos(self.angle), self.v), np.float32)


class Guess(gym.Env):
    """Questions without a memory: each step shows four new numbers and asks about them.

    Choices: which is the largest; reward 2 for the right one, else 0. Box: their mean; reward 1
    less three times the error. An episode has 25 questions; the best return is 50, or 25.
    """

    LIMIT, NUMBERS = 25, 4

    def __init__(self, action: str = "discrete") -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (self.NUMBERS,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(self.NUMBERS) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self._ask(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        if self.discrete:
            reward = 2.0 if int(action) == int(self.asked.argmax()) else 0.0
        else:
            reward = 1.0 - 3.0 * abs(action.tolist()[0] - float(self.asked.mean()))
        return self._ask(), reward, False, self.t >= self.LIMIT, {}

    def _ask(self) -> Any:
        self.asked = self.np_random.uniform(-1.0, 1.0, self.NUMBERS).astype(np.float32)
        return self.asked


class Offers(gym.Env):
    """A shop without a memory: each step another customer comes in and is offered one of three
    prices.

    Observation: the kind of customer, one of twelve. Reward: the price, if the customer takes it,
    with a chance that falls with the price and differs from kind to kind. An episode is a day of 20
    customers; the best return is near 43.
    """

    LIMIT, KINDS, PRICES = 20, 12, (1.0, 2.0, 4.0)

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(self.KINDS)
        self.action_space = gym.spaces.Discrete(len(self.PRICES))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self._enter(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        price, purse = self.PRICES[int(action)], 1.0 + self.kind % 4
        takes = self.np_random.random() < (0.95 if price <= purse else 0.05)
        return self._enter(), price if takes else 0.0, False, self.t >= self.LIMIT, {}

    def _enter(self) -> Any:
        self.kind = int(self.np_random.integers(self.KINDS))
        return self.kind


class Sorting(gym.Env):
    """A belt of parcels: each has a mark, one of seven, and goes into one of four chutes.

    Observation: the mark. Reward: 1 for the right chute, -1 for one that breaks it, else 0. A crate
    is full after 16 parcels, which ends the task and which nothing shows; the best return is 16.
    """

    PARCELS, MARKS, CHUTES = 16, 7, 4

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(self.MARKS)
        self.action_space = gym.spaces.Discrete(self.CHUTES)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self._next(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        off = (int(action) - 3 * self.mark) % self.CHUTES
        reward = (1.0, 0.0, -1.0, 0.0)[off]
        return self._next(), reward, self.t >= self.PARCELS, False, {}

    def _next(self) -> Any:
        self.mark = int(self.np_random.integers(self.MARKS))
        return self.mark


class Aim(gym.Env):
    """Throws at a board: wind and distance are new each time, and the throw is to allow for both.

    Observation: wind, distance. Choices: one of five angles; Box: the angle. Reward: minus how far
    off it is, each throw. A player has six throws, which ends the task and which nothing shows.
    """

    THROWS, ANGLES = 6, 5

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(self.ANGLES) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self._set_up(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        angle = int(action) / 2.0 - 1.0 if self.discrete else action.tolist()[0]
        wind, distance = self.board.tolist()
        off = abs(angle - 0.6 * wind - 0.3 * distance)
        return self._set_up(), -off, self.t >= self.THROWS, False, {}

    def _set_up(self) -> Any:
        self.board = self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)
        return self.board


class Furnace(gym.Env):
    """A furnace that is to stay at its set point for one shift.

    Observation: how far it is from it, and how fast that changes. Reward: 1 less the square of the
    distance, each step. The shift is over after 40 steps, which ends the task and which nothing
    shows; the best return is near 38.
    """

    LIMIT, DT = 40, 0.2

    def __init__(self, action: str = "box") -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.discrete = action == "discrete"
        box = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(3) if self.discrete else box

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.x, self.v = self.np_random.uniform(-1.0, 1.0, 2).tolist()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        heat = float(int(action) - 1) if self.discrete else action.tolist()[0]
        self.v += self.DT * (2.0 * min(max(heat, -1.0), 1.0) - 0.3 * self.v)
        self.x += self.DT * self.v
        reward = max(1.0 - self.x * self.x, -3.0)
        return self._observe(), reward, self.t >= self.LIMIT, False, {}

    def _observe(self) -> Any:
        return np.array((self.x, self.v), np.float32)


class Dial(gym.Env):
    """A dial that is to be turned to a mark, by a coarse or a fine step either way.

    Observation: where the dial and the mark are. Reward: -1 a step until they meet; 200 steps are
    the limit, the best return is near -6. Whoever always takes the step that seems best goes to and
    fro beside the mark at times, for good; a random step now and then ends that. So evaluations get
    stuck while training does well, and nothing is wrong.
    """

    LIMIT, STEPS, NEAR = 200, (-0.19, -0.04, 0.04, 0.19), 0.015

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(len(self.STEPS))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.x, self.mark = self.np_random.uniform(-1.0, 1.0, 2).tolist()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        self.x = min(max(self.x + self.STEPS[int(action)], -1.0), 1.0)
        there = abs(self.x - self.mark) < self.NEAR
        return self._observe(), -1.0, there, not there and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((self.x, self.mark), np.float32)


class Dock(gym.Env):
    """A barge without a rudder: tugs pull it east, west, north or south until it lies at its berth.

    Observation: how far the berth is, east and north. Reward: 1 at the berth, which ends it,
    -0.02 for each pull before; 150 pulls are the limit. Pulls one way are longer than back, so the
    berth can be met, and missed for good: evaluations get stuck as with `Dial`.
    """

    LIMIT, NEAR = 150, 0.06
    PULLS = ((0.25, 0.0), (-0.17, 0.0), (0.0, 0.25), (0.0, -0.17))

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-2.0, 2.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(len(self.PULLS))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        self.x, self.y = self.np_random.uniform(-1.0, 1.0, 2).tolist()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        east, north = self.PULLS[int(action)]
        self.x = min(max(self.x + east, -2.0), 2.0)
        self.y = min(max(self.y + north, -2.0), 2.0)
        there = max(abs(self.x), abs(self.y)) < self.NEAR
        reward = 1.0 if there else -0.02
        return self._observe(), reward, there, not there and self.t >= self.LIMIT, {}

    def _observe(self) -> Any:
        return np.array((self.x, self.y), np.float32)
