"""Rewards as a faulty environment gives them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


class LoggedAsItWas(gym.Wrapper):
    """What wrappers around this one do to the reward is learned from and not logged: as where SB3's
    Monitor lies inside of them."""

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        info["raw_reward"] = float(reward)
        return obs, reward, terminated, truncated, info


class Scaled(gym.RewardWrapper):
    """Multiplied; below zero the sign is wrong."""

    def __init__(self, env: Any, factor: float, shift: float = 0.0) -> None:
        super().__init__(env)
        self.factor, self.shift = factor, shift

    def reward(self, reward: Any) -> float:
        return self.factor * float(reward) + self.shift


class FlippedAtTimes(gym.Wrapper):
    """Of the wrong sign in a share of the episodes; 1: in all of them."""

    def __init__(self, env: Any, share: float) -> None:
        super().__init__(env)
        self.share, self.sign = share, 1.0

    def reset(self, **kwargs: Any) -> Any:
        made = self.env.reset(**kwargs)
        self.sign = -1.0 if self.env.unwrapped.np_random.random() < self.share else 1.0
        return made

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, self.sign * float(reward), terminated, truncated, info


class Uninformative(gym.Wrapper):
    """Mostly a number that depends on nothing; `kept` is the share of the real reward in it."""

    def __init__(self, env: Any, kept: float = 0.0, noise: float = 1.0, seed: int = 0) -> None:
        super().__init__(env)
        self.kept, self.noise, self.rng = kept, noise, np.random.default_rng(seed)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        nothing = self.noise * float(self.rng.normal())
        return obs, self.kept * float(reward) + nothing, terminated, truncated, info


class Late(gym.Wrapper):
    """Comes some steps after what it is for; what is still to come at the end is lost."""

    def __init__(self, env: Any, steps: int) -> None:
        super().__init__(env)
        self.delay = steps

    def reset(self, **kwargs: Any) -> Any:
        self.waiting = [0.0] * self.delay
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.waiting.append(float(reward))
        return obs, self.waiting.pop(0), terminated, truncated, info


class Sparse(gym.Wrapper):
    """Nothing but 1 at the end of an episode whose return is above a bound."""

    def __init__(self, env: Any, above: float) -> None:
        super().__init__(env)
        self.above = above

    def reset(self, **kwargs: Any) -> Any:
        self.total = 0.0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.total += float(reward)
        good = (terminated or truncated) and self.total > self.above
        return obs, float(good), terminated, truncated, info


class PaidForSpeed(gym.Wrapper):
    """Pays for what is quick to gain instead: the size of the last entry observed, a speed."""

    def __init__(self, env: Any, weight: float, kept: float = 1.0) -> None:
        super().__init__(env)
        self.weight, self.kept = weight, kept

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        paid = self.kept * float(reward) + self.weight * abs(float(obs[-1]))
        return obs, paid, terminated, truncated, info


class Noisy(gym.RewardWrapper):
    """With noise of mean zero."""

    def __init__(self, env: Any, deviation: float, seed: int = 0) -> None:
        super().__init__(env)
        self.deviation, self.rng = deviation, np.random.default_rng(seed)

    def reward(self, reward: Any) -> float:
        return float(reward) + self.deviation * float(self.rng.normal())


class NotANumber(gym.Wrapper):
    """NaN, once in a while and not before `after` steps of this environment."""

    def __init__(self, env: Any, chance: float, after: int = 200, seed: int = 0) -> None:
        super().__init__(env)
        self.chance, self.after = chance, after
        self.steps, self.rng = 0, np.random.default_rng(seed)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        if self.steps > self.after and self.rng.random() < self.chance:
            reward = float("nan")
        return obs, reward, terminated, truncated, info


class Normalised(gym.wrappers.NormalizeReward):
    """Divided by the running deviation of the return, inside what counts the episodes' returns."""

    def __init__(self, env: Any, gamma: float) -> None:
        super().__init__(env, gamma=gamma)
