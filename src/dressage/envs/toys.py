"""Tiny environments with known answers: for the conformance suite, learning tests and probes.

Each is named as any environment of your own: `dressage.envs.toys:Identity`. None needs more than a
few thousand steps, and each isolates one thing that a learner must get right.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

ACTIONS: dict[str, spaces.Space[Any]] = {
    "discrete": spaces.Discrete(3),
    "continuous": spaces.Box(-2.0, 2.0, (2,), np.float32),
    "multi_discrete": spaces.MultiDiscrete([2, 3]),
    "multi_binary": spaces.MultiBinary(2),
    "hybrid_tuple": spaces.Tuple((spaces.Discrete(3), spaces.Box(-1.0, 1.0, (2,), np.float32))),
    "hybrid_dict": spaces.Dict(
        {"force": spaces.Box(0.0, 5.0, (1,), np.float32), "gear": spaces.MultiDiscrete([2, 2])}
    ),
}
OBSERVATIONS: dict[str, spaces.Space[Any]] = {
    "vector": spaces.Box(-np.inf, np.inf, (3,), np.float32),
    "image": spaces.Box(0, 255, (8, 8, 1), np.uint8),
    "discrete": spaces.Discrete(4),
    "dict": spaces.Dict(
        {
            "camera": spaces.Box(0, 255, (8, 8, 3), np.uint8),
            "mode": spaces.Discrete(3),
            "speed": spaces.Box(-np.inf, np.inf, (2,), np.float32),
        }
    ),
}


class Kinds(gym.Env):  # type: ignore[misc]
    """Any kind of observation and action; episodes end by the task and by the clock, at random.

    The reward depends on the observation and the action, so that every part of a learner moves.
    """

    def __init__(
        self, observation: str = "vector", action: str = "discrete", masked: bool = False
    ) -> None:
        self.observation_space = OBSERVATIONS[observation]
        self.action_space = ACTIONS[action]
        self._masked = masked
        self._choices = _choices(self.action_space)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.limit = 0, int(self.np_random.integers(4, 12))
        return self._observe()

    def step(self, action: Any) -> Any:
        numbers = _numbers(action)
        choices: Any = numbers[-len(self._choices) :] if self._choices else []
        if self._masked and not all(
            allowed[int(choice)] for allowed, choice in zip(self._allowed, choices, strict=True)
        ):
            raise ValueError(f"the masked action {action} was taken")
        self.t += 1
        reward = float(np.sin(self._level + numbers).sum())
        observation, info = self._observe()
        terminated = bool(self.np_random.random() < 0.1)
        return observation, reward, terminated, self.t >= self.limit, info

    def _observe(self) -> tuple[Any, dict[str, Any]]:
        self._level = float(self.np_random.normal(1.0, 2.0))
        info: dict[str, Any] = {}
        if self._masked:
            self._allowed = [self.np_random.random(n) < 0.5 for n in self._choices]
            for allowed in self._allowed:
                allowed[self.np_random.integers(len(allowed))] = True
            info["action_mask"] = np.concatenate(self._allowed)
        return self._draw(self.observation_space), info

    def _draw(self, space: Any) -> Any:
        if isinstance(space, spaces.Dict):
            return {name: self._draw(part) for name, part in space.items()}
        if isinstance(space, spaces.Discrete):
            return int(abs(self._level)) % int(space.n)
        if space.dtype == np.uint8:
            return self.np_random.integers(0, 256, space.shape, np.uint8)
        noise = self.np_random.normal(size=space.shape)
        return (noise + self._level).astype(np.float32)


def _choices(space: Any) -> list[int]:
    """Sizes of the categorical choices, which the masks are for."""
    match space:
        case spaces.Discrete():
            return [int(space.n)]
        case spaces.MultiDiscrete():
            return [int(n) for n in space.nvec]
        case spaces.MultiBinary():
            return [2] * int(np.prod(space.shape))
        case spaces.Tuple():
            return [n for part in space.spaces for n in _choices(part)]
        case spaces.Dict():
            return [n for part in space.values() for n in _choices(part)]
    return []


def _numbers(action: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """An action of any kind as one row: continuous dimensions first, then choices."""
    if isinstance(action, dict):
        action = list(action.values())
    if isinstance(action, list | tuple):
        parts = [np.asarray(part) for part in action]
        parts.sort(key=lambda part: part.dtype.kind != "f")
        return np.concatenate([part.astype(np.float64).reshape(-1) for part in parts])
    return np.asarray(action, np.float64).reshape(-1)


class Identity(gym.Env):  # type: ignore[misc]
    """Repeat what you see: reward 1 for the right choice, minus the squared distance for a Box.

    Ten steps an episode; the best return is 10 (`discrete`, `multi_discrete`) or 0 (`box`).
    """

    LENGTH = 10

    def __init__(self, action: str = "discrete") -> None:
        space: dict[str, spaces.Space[Any]] = {
            "discrete": spaces.Discrete(3),
            "multi_discrete": spaces.MultiDiscrete([2, 3]),
            "box": spaces.Box(-1.0, 1.0, (2,), np.float32),
        }
        self.observation_space = self.action_space = space[action]

    def _target(self) -> Any:
        if isinstance(self.action_space, spaces.Box):
            target = self.np_random.uniform(-1.0, 1.0, self.action_space.shape)
            return target.astype(np.float32)
        if isinstance(self.action_space, spaces.Discrete):
            return int(self.np_random.integers(self.action_space.n))
        return self.np_random.integers(self.action_space.nvec)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.target = 0, self._target()
        return self.target, {}

    def step(self, action: Any) -> Any:
        if isinstance(self.action_space, spaces.Box):
            reward = -float(np.square(action - self.target).sum())
        else:
            reward = float(np.mean(np.equal(action, self.target)))
        self.t, self.target = self.t + 1, self._target()
        return self.target, reward, self.t >= self.LENGTH, False, {}


class Chain(gym.Env):  # type: ignore[misc]
    """Three states in a row, rewards 1, 0 and 2, then the end; actions change nothing.

    With discount g the values are 1 + 2 g^2, 2 g and 2.
    """

    REWARDS = (1.0, 0.0, 2.0)

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(3)
        self.action_space = spaces.Discrete(2)

    @classmethod
    def values(cls, gamma: float) -> list[float]:
        return [1.0 + 2.0 * gamma**2, 2.0 * gamma, 2.0]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action: Any) -> Any:
        reward, last = self.REWARDS[self.state], self.state == 2
        self.state = min(self.state + 1, 2)
        return self.state, reward, last, False, {}


class StayOrLeave(gym.Env):  # type: ignore[misc]
    """Staying (0) pays 1 a step for ever; leaving (1) pays 3 once and ends the task.

    The clock cuts episodes after two steps, and the observation does not show it. With a discount
    of 0.9 staying is worth 10, so staying is right. Who takes the clock's end for the task's sees
    at most 1.9 in it, and leaves; who takes the task's end for the clock's sees 3 and more to come
    in leaving, and leaves too.
    """

    LIMIT = 2

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return np.ones(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        leaves = int(action) == 1
        reward = 3.0 if leaves else 1.0
        return np.ones(1, np.float32), reward, leaves, not leaves and self.t >= self.LIMIT, {}


class Bandit(gym.Env):  # type: ignore[misc]
    """Five arms that pay 1 with probabilities of 0.1, 0.7, 0.3, 0.5 and 0.2, else 0.

    Ten steps an episode; who always takes the second gets 7 on average, who takes any gets 3.6.
    """

    LENGTH, CHANCES = 10, (0.1, 0.7, 0.3, 0.5, 0.2)

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(1)
        self.action_space = spaces.Discrete(len(self.CHANCES))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return 0, {}

    def step(self, action: Any) -> Any:
        self.t += 1
        reward = float(self.np_random.random() < self.CHANCES[int(action)])
        return 0, reward, self.t >= self.LENGTH, False, {}


class Menu(gym.Env):  # type: ignore[misc]
    """Of the dishes on the day's menu take the last, for 1; any other pays 0. The mask is the menu.

    Ten steps an episode. The observation says nothing, so that only a learner that keeps forbidden
    actions out of its gradient finds the order of all dishes. Taking what is off the menu raises.
    """

    LENGTH, DISHES = 10, 4

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(self.DISHES)

    def _serve(self) -> Any:
        self.menu = self.np_random.random(self.DISHES) < 0.5
        self.menu[self.np_random.integers(self.DISHES)] = True
        return np.ones(1, np.float32), {"action_mask": self.menu}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self._serve()

    def step(self, action: Any) -> Any:
        if not self.menu[action]:
            raise ValueError(f"dish {action} is not on the menu {self.menu}")
        reward = float(action == np.flatnonzero(self.menu)[-1])
        self.t += 1
        obs, info = self._serve()
        return obs, reward, self.t >= self.LENGTH, False, info


class Recall(gym.Env):  # type: ignore[misc]
    """A cue is shown once; after `delay` blank steps the action must repeat it, for 1 or -1.

    A policy without memory gets 0 on average. `box`: the answer is a number from -1 to 1, and costs
    its distance from the right end; without memory 0 is the best there too.
    """

    def __init__(self, delay: int = 2, action: str = "discrete") -> None:
        self.delay = delay
        self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)  # cue, "answer now"
        box = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = box if action == "box" else spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.cue = 0, int(self.np_random.integers(2))
        return np.array([2.0 * self.cue - 1.0, 0.0], np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        done = self.t > self.delay
        reward = self._score(action) if done else 0.0
        return np.array([0.0, self.t >= self.delay], np.float32), reward, done, False, {}

    def _score(self, action: Any) -> float:
        if isinstance(self.action_space, spaces.Box):
            return 1.0 - abs(float(action[0]) - (2.0 * self.cue - 1.0))
        return 1.0 if int(action) == self.cue else -1.0


class Corridor(gym.Env):  # type: ignore[misc]
    """A long way in small steps: 1 for each step at its end, and 0 everywhere else.

    Of the two actions one leads on and the other back, which is which differing from place to
    place. An episode has `2 length` steps: the best return is `length + 1`. Chance comes to the
    end in one of 119,000 episodes (length 40), and nothing tells that it is worth trying: who
    does not look for what is new gets 0.
    """

    def __init__(self, length: int = 40) -> None:
        self.length, self.limit = length, 2 * length
        self.observation_space = spaces.Discrete(length + 1)
        self.action_space = spaces.Discrete(2)
        self.onward = np.random.default_rng(length).integers(0, 2, length + 1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.at = 0, 0
        return 0, {}

    def step(self, action: Any) -> Any:
        ahead = 1 if int(action) == self.onward[self.at] else -1
        self.t, self.at = self.t + 1, min(max(self.at + ahead, 0), self.length)
        return self.at, float(self.at == self.length), False, self.t >= self.limit, {}


class Valve(gym.Env):  # type: ignore[misc]
    """A slow tank behind a valve: 1 for each step with the level between 0.4 and 0.6, else 0.

    The level follows the action, one fiftieth of the way a step. Noise that is drawn anew each step
    is smoothed away (a standard deviation of 0.5 moves the level by 0.05), and a policy that has
    not met a reward drifts to a bound of its action; who holds one opening after the other finds
    the band. An episode has 150 steps; the best return is near 120.
    """

    LIMIT, FOLLOWS = 150, 0.02

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.level = 0, 0.0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        opening = float(np.clip(action[0], -1.0, 1.0))
        self.t, self.level = self.t + 1, self.level + self.FOLLOWS * (opening - self.level)
        seen = np.array([self.level], np.float32)
        return seen, float(0.4 < self.level < 0.6), False, self.t >= self.LIMIT, {}


class Roulette(gym.Env):  # type: ignore[misc]
    """Bet on one of 38 numbers, again and again, or leave: the best is to leave at once.

    A bet wins 35 in one of 38 spins and loses 1 otherwise, -0.053 in the mean, so that no action
    is worth more than 0; who takes the largest of noisy estimates believes otherwise (van Hasselt
    2010, "Double Q-learning"). Action 38 leaves. Rewards are divided by `scale`:
    the Huber loss of DQN would take 35 for an outlier, and learn a median.
    """

    def __init__(self, scale: float = 35.0, limit: int = 50) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(39)
        self.scale, self.limit = scale, limit

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return np.ones(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        leaves = int(action) == 38
        won = not leaves and int(self.np_random.integers(38)) == int(action)
        reward = 0.0 if leaves else (35.0 if won else -1.0) / self.scale
        return np.ones(1, np.float32), reward, leaves, self.t >= self.limit, {}
