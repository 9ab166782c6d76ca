"""Atari preprocessing, and the wrapper that changes rewards but keeps the raw one in sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import wrappers as gymw

from dressage.envs.ale import Frames, Stack, asks_directly
from dressage.errors import EnvError


def sign(reward: float) -> float:
    return float(np.sign(reward))


class ChangedReward(gym.Wrapper):  # type: ignore[misc]
    """Applies a function to the reward and leaves the raw one in info."""

    def __init__(self, env: Any, change: Callable[[float], float]) -> None:
        super().__init__(env)
        self._change = change

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        info.setdefault("raw_reward", reward)
        return obs, self._change(float(reward)), terminated, truncated, info


class EpisodicLife(gym.Wrapper):  # type: ignore[misc]
    """Ends an episode with each lost life; the game itself restarts only when it is over."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        if not hasattr(env.unwrapped, "ale"):
            raise EnvError("episodic_life needs an ALE environment, this one has no lives.")
        self._lives = 0
        self._game_over = True

    def force_reset(self) -> None:
        """The next reset starts a new game, whatever the state of this one."""
        self._game_over = True

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._game_over = bool(terminated or truncated)
        lives = self.unwrapped.ale.lives()
        terminated = terminated or 0 < lives < self._lives
        self._lives = lives
        info["game_over"] = self._game_over
        return obs, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        continued = not self._game_over
        if continued:
            obs, _, terminated, truncated, info = self.env.step(0)
            continued = not (terminated or truncated)
        if not continued:
            obs, info = self.env.reset(seed=seed, options=options)
        self._game_over = False
        self._lives = self.unwrapped.ale.lives()
        info["continued"] = continued
        return obs, info


class FireReset(gym.Wrapper):  # type: ignore[misc]
    """Presses FIRE after a reset in games that wait for it."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        meanings: list[str] = getattr(env.unwrapped, "get_action_meanings", list)()
        self._needs_fire = len(meanings) >= 3 and meanings[1] == "FIRE"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        obs, info = self.env.reset(seed=seed, options=options)
        if not self._needs_fire:
            return obs, info
        # A second reset below does not change where this one started from.
        continued = info.get("continued", False)
        obs, _, terminated, truncated, info = self.env.step(1)
        if terminated or truncated:
            obs, info = self.env.reset(seed=seed, options=options)
        info["continued"] = continued
        return obs, info


def atari(
    env: Any,
    frame_skip: int = 4,
    screen_size: int = 84,
    stack: int = 4,
    noop_max: int = 30,
    episodic_life: bool = True,
    sign_reward: bool = True,
) -> Any:
    """The usual preprocessing (Mnih et al., 2015), as SB3 and CleanRL do it."""
    if not hasattr(env.unwrapped, "ale"):
        raise EnvError("The wrapper atari needs an ALE environment such as ALE/Pong-v5.")
    frames = Frames if asks_directly(env) else gymw.AtariPreprocessing
    env = frames(env, noop_max, frame_skip, screen_size)
    if episodic_life:
        env = EpisodicLife(env)
    env = FireReset(env)
    if sign_reward:
        env = ChangedReward(env, sign)
    return Stack(env, stack) if stack > 1 else env
