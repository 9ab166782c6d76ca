"""Observations as a faulty environment gives them; all are vectors."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np


class Rescaled(gym.ObservationWrapper):
    """Each entry on a scale of its own, from 1/factor to factor."""

    def __init__(self, env: Any, factor: float, shift: float = 0.0) -> None:
        super().__init__(env)
        size = env.observation_space.shape[0]
        self.scale = np.geomspace(factor, 1.0 / factor, size).astype(np.float32)
        self.shift = np.float32(shift)
        self.observation_space = unbounded(env)

    def observation(self, obs: Any) -> Any:
        return np.asarray(obs * self.scale + self.shift, np.float32)


class Enlarged(gym.ObservationWrapper):
    """All entries times one factor, and shifted."""

    def __init__(self, env: Any, factor: float, shift: float = 0.0) -> None:
        super().__init__(env)
        self.factor, self.shift = np.float32(factor), np.float32(shift)
        self.observation_space = unbounded(env)

    def observation(self, obs: Any) -> Any:
        return np.asarray(obs * self.factor + self.shift, np.float32)


class Constant(gym.ObservationWrapper):
    """All entries but the first few never change."""

    def __init__(self, env: Any, kept: int = 0, value: float = 0.0) -> None:
        super().__init__(env)
        self.kept, self.value = kept, value
        self.observation_space = unbounded(env)

    def observation(self, obs: Any) -> Any:
        said = np.full(obs.shape, self.value, np.float32)
        said[: self.kept] = obs[: self.kept]
        return said


class Stale(gym.Wrapper):
    """What was seen some steps ago."""

    def __init__(self, env: Any, steps: int) -> None:
        super().__init__(env)
        self.delay = steps

    def reset(self, **kwargs: Any) -> Any:
        obs, info = self.env.reset(**kwargs)
        self.seen = deque([obs] * (self.delay + 1), maxlen=self.delay + 1)
        return obs, info

    def step(self, action: Any) -> Any:
        obs, *rest = self.env.step(action)
        self.seen.append(obs)
        return self.seen[0], *rest


class Without(gym.ObservationWrapper):
    """Some entries are zero, such as the velocities."""

    def __init__(self, env: Any, entries: list[int]) -> None:
        super().__init__(env)
        self.entries = [e for e in entries if e < env.observation_space.shape[0]]

    def observation(self, obs: Any) -> Any:
        said = np.array(obs, np.float32)
        said[self.entries] = 0.0
        return said


class Noisy(gym.ObservationWrapper):
    """With noise on every entry."""

    def __init__(self, env: Any, deviation: float, seed: int = 0) -> None:
        super().__init__(env)
        self.deviation, self.rng = deviation, np.random.default_rng(seed)
        self.observation_space = unbounded(env)

    def observation(self, obs: Any) -> Any:
        noise = self.deviation * self.rng.normal(size=obs.shape)
        return np.asarray(obs + noise, np.float32)


class NotANumber(gym.ObservationWrapper):
    """An entry is infinite, once in a while and not before `after` steps of this environment."""

    def __init__(self, env: Any, chance: float, after: int = 200, seed: int = 0) -> None:
        super().__init__(env)
        self.chance, self.after = chance, after
        self.steps, self.rng = 0, np.random.default_rng(seed)

    def observation(self, obs: Any) -> Any:
        self.steps += 1
        said = np.array(obs, np.float32)
        if self.steps > self.after and self.rng.random() < self.chance:
            said[0] = np.inf
        return said


def unbounded(env: Any) -> gym.spaces.Box:
    return gym.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float32)
