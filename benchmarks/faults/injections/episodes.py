"""Episodes that begin or end wrongly."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym


class Short(gym.wrappers.TimeLimit):
    """Ended by the clock after a share of the usual limit, and at least ten steps."""

    def __init__(self, env: Any, share: float) -> None:
        limit = env.spec.max_episode_steps if env.spec is not None else None
        super().__init__(env, max(10, round((limit or 100) * share)))


class ClockAsEnd(gym.Wrapper):
    """An end by the clock is told as an end of the task; the clock may be set to `limit` steps."""

    def __init__(self, env: Any, limit: int = 0) -> None:
        super().__init__(env)
        self.limit, self.t = limit, 0

    def reset(self, **kwargs: Any) -> Any:
        self.t = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.t += 1
        over = terminated or truncated or (self.limit > 0 and self.t >= self.limit)
        return obs, reward, over, False, info


class NeverReset(gym.Wrapper):
    """Its own step counter outlives the episode: once past the limit, each ends after `left`."""

    def __init__(self, env: Any, limit: int, left: int = 1) -> None:
        super().__init__(env)
        self.limit, self.left, self.t, self.since = limit, left, 0, 0

    def reset(self, **kwargs: Any) -> Any:
        self.since = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.t += 1
        self.since += 1
        stuck = self.t >= self.limit and self.since >= self.left
        return obs, reward, terminated or stuck, truncated, info


class SameEpisodes(gym.Wrapper):
    """Ignores the seed of reset: every environment plays the same few episodes."""

    def __init__(self, env: Any, episodes: int = 1) -> None:
        super().__init__(env)
        self.episodes, self.count = episodes, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.count += 1
        return self.env.reset(seed=self.count % self.episodes, options=options)


class Slower(gym.Wrapper):
    """Each step takes longer than the one before, by `microseconds` a thousand steps."""

    def __init__(self, env: Any, microseconds: float) -> None:
        super().__init__(env)
        self.pause, self.t = microseconds * 1e-9, 0

    def step(self, action: Any) -> Any:
        self.t += 1
        _compute(self.pause * self.t)
        return self.env.step(action)


class Costly(gym.Wrapper):
    """Each step computes for so long, as a simulator of some size does."""

    def __init__(self, env: gym.Env, seconds: float) -> None:
        super().__init__(env)
        self.seconds = seconds

    def step(self, action: Any) -> Any:
        _compute(self.seconds)
        return self.env.step(action)


def _compute(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
