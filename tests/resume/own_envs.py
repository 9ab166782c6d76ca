"""Environments and parts of a user's own, found as own_envs:Name here and in other processes."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from dressage.core.hooks import Hook


class Walk(gym.Env):
    """A seeded walk of at most 30 steps; each way to misbehave is asked for by keyword."""

    def __init__(
        self,
        noise: str = "seeded",
        fail: str = "",
        fail_at: int = 60,  # steps of this instance
        bad_seed: int = -1,  # of an episode, at which reset raises
        sleep: float = 0.0,
        spared_pid: int = -1,
    ) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.noise, self.fail, self.fail_at = noise, fail, fail_at
        self.bad_seed, self.sleep, self.spared_pid = bad_seed, sleep, spared_pid
        self.total = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if self.fail == "reset" or seed == self.bad_seed:
            raise RuntimeError("the gate is locked")
        self.t, self.position = 0, self.np_random.normal(size=3)
        return self._observe(), {}

    def _observe(self) -> Any:
        return self.position.astype(np.float32)

    def step(self, action: int) -> Any:
        self.t += 1
        self.total += 1
        if self.sleep:
            time.sleep(self.sleep)
        shift = random.random() if self.noise == "global" else self.np_random.normal()
        self.position = self.position + (0.2 if action else -0.2) + 0.1 * shift
        obs, reward = self._observe(), float(-abs(self.position[0]))
        if self.fail and self.total >= self.fail_at:
            obs, reward = self._fail(obs, reward)
        return obs, reward, bool(abs(self.position[0]) > 3), self.t >= 30, {}

    def _fail(self, obs: Any, reward: float) -> Any:
        match self.fail:
            case "step":
                raise RuntimeError("the floor gave way")
            case "exit" if os.getpid() != self.spared_pid:
                os._exit(7)
            case "nan_obs":
                obs[1] = np.nan
            case "inf_obs":
                obs[1] = np.inf
            case "nan_reward":
                reward = float("nan")
            case "inf_reward":
                reward = float("inf")
            case "text_reward":
                return obs, "much"
            case "shape":
                obs = obs[:2]
            case "none":
                return None, reward
            case "text":
                return "north", reward
            case "dict":
                return {"position": obs}, reward
        return obs, reward


class Level(gym.Wrapper):
    """A wrapper whose state outlives episodes, by the protocol: rewards grow with each one."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.level, self.seen = 0, np.zeros(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.level += 1
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            self.seen = self.seen + obs
        bonus = 0.01 * self.level + float(self.seen.sum() % 1.0)
        return obs + np.float32(bonus), reward + bonus, terminated, truncated, info

    def state_dict(self) -> dict[str, Any]:
        return {"level": self.level, "seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.level, self.seen = state["level"], state["seen"]


def leveled(**kwargs: Any) -> gym.Env:
    return Level(Walk(**kwargs))


class SilentLevel(gym.Wrapper):
    """State that outlives episodes, without a word about it."""

    level = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.level += 1
        obs, info = self.env.reset(seed=seed, options=options)
        return obs + np.float32(self.level), info


def silently_leveled() -> gym.Env:
    return SilentLevel(Walk())


class Undrawable(Walk):
    """Asks for actions that no policy of ours gives."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Sequence(spaces.Discrete(2))


class StopAt(Hook):
    """Asks the run to stop once it has made some env steps."""

    def __init__(self, env_steps: int) -> None:
        self.env_steps = env_steps

    def on_iteration(self, moment: Any) -> None:
        if moment.env_steps >= self.env_steps:
            moment.stop("the test said so")


class RaisesAt(StopAt):
    def on_iteration(self, moment: Any) -> None:
        if moment.env_steps >= self.env_steps:
            raise ValueError("my callback broke")


class Counting(Hook):
    """A user's callback with state that must come back: logs how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def on_iteration(self, moment: Any) -> None:
        self.calls += 1
        moment.log("own/calls", self.calls)

    def state(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def load(self, state: Any) -> None:
        self.calls = state["calls"]
