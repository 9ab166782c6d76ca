"""Environments and algorithms with one fault each, for the tests of probes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Walk(gym.Env):  # type: ignore[misc]
    """Healthy: a number to be kept near zero, by a push left or right; 30 steps at most."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space: spaces.Space[Any] = spaces.Discrete(2)
    limit = 30

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.x, self.v = 0, float(self.np_random.normal()), float(self.np_random.normal())
        return self.observe(), {}

    def push(self, action: Any) -> float:
        return 2.0 * int(action) - 1.0

    def observe(self) -> Any:
        return np.array([self.x, self.v], np.float32)

    def step(self, action: Any) -> Any:
        self.t += 1
        self.v += 0.1 * self.push(action)
        self.x += 0.1 * self.v
        over = abs(self.x) > 3.0
        return self.observe(), -abs(self.x), over, self.t >= self.limit, {}


class ActionIgnored(Walk):
    def push(self, action: Any) -> float:
        return 0.0


class ActionDelayed(Walk):
    """Each action does what it should three steps later."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.waiting = [0.0, 0.0, 0.0]
        return super().reset(seed=seed)

    def push(self, action: Any) -> float:
        self.waiting.append(2.0 * int(action) - 1.0)
        return self.waiting.pop(0)


class OneOfTwoDimensions(Walk):
    """The second number of the action does nothing."""

    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def push(self, action: Any) -> float:
        return float(action[0])


class NoRoom(Walk):
    action_space = spaces.Box(0.5, 0.5, (1,), np.float32)

    def push(self, action: Any) -> float:
        return float(action[0])


class ConstantSight(Walk):
    def observe(self) -> Any:
        return np.full(2, 0.7, np.float32)


class OnlyTheEndTells(ConstantSight):
    """Pushed hard, it ends within some steps, earlier or later; nothing else differs."""

    def push(self, action: Any) -> float:
        return 8.0 * super().push(action)

    def step(self, action: Any) -> Any:
        obs, _, *rest = super().step(action)
        return obs, 0.0, *rest


class SometimesNan(Walk):
    def observe(self) -> Any:
        return np.array([self.x, np.nan if self.t == 5 else self.v], np.float32)


class SharedSeed(Walk):
    """Seeds numpy in its reset, and so begins every episode alike."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        np.random.seed(0)  # noqa: NPY002 (the fault)
        super().reset(seed=seed)
        self.x, self.v = np.random.normal(size=2)  # noqa: NPY002
        return self.observe(), {}


class NeverReset(Walk):
    """Its clock runs on over resets: all episodes but the first end at once."""

    t = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        clock = self.t
        made = super().reset(seed=seed)
        self.t = clock
        return made


class Chancy(Walk):
    """Draws from a generator that no seed reaches."""

    def push(self, action: Any) -> float:
        return float(np.random.default_rng().normal())


class HugeRewards(Walk):
    def step(self, action: Any) -> Any:
        obs, reward, *rest = super().step(action)
        return obs, 1000.0 * reward, *rest


class Crashing(Walk):
    def step(self, action: Any) -> Any:
        raise RuntimeError("the motor is on fire")
