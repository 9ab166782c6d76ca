"""Actions that do not do what the policy means."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np


class Ignored(gym.Wrapper):
    """A random action is taken instead, in a share of the steps."""

    def __init__(self, env: Any, share: float, seed: int = 0) -> None:
        super().__init__(env)
        self.share, self.rng = share, np.random.default_rng(seed)
        self.action_space.seed(seed)

    def step(self, action: Any) -> Any:
        if self.rng.random() < self.share:
            action = self.action_space.sample()
        return self.env.step(action)


class Permuted(gym.Wrapper):
    """The choices mean something else in each episode, in a share of the episodes."""

    def __init__(self, env: Any, share: float, seed: int = 0) -> None:
        super().__init__(env)
        self.share, self.rng, self.offset = share, np.random.default_rng(seed), 0

    def reset(self, **kwargs: Any) -> Any:
        turned = self.rng.random() < self.share
        self.offset = int(self.rng.integers(self.action_space.n)) if turned else 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        return self.env.step((int(action) + self.offset) % int(self.action_space.n))


class Delayed(gym.Wrapper):
    """Takes effect some steps later."""

    def __init__(self, env: Any, steps: int) -> None:
        super().__init__(env)
        self.delay = steps

    def reset(self, **kwargs: Any) -> Any:
        nothing = (
            np.zeros(self.action_space.shape, np.float32)
            if isinstance(self.action_space, gym.spaces.Box)
            else 0
        )
        self.waiting = deque([nothing] * self.delay)
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        self.waiting.append(action)
        return self.env.step(self.waiting.popleft())


class Ranged(gym.Wrapper):
    """Bounds of another size around the same actions, which the environment scales back."""

    def __init__(self, env: Any, factor: float) -> None:
        super().__init__(env)
        space, self.factor = env.action_space, factor
        self.action_space = gym.spaces.Box(
            (space.low * factor).astype(np.float32), (space.high * factor).astype(np.float32)
        )

    def step(self, action: Any) -> Any:
        return self.env.step(np.asarray(action, np.float32) / self.factor)


class Narrow(gym.Wrapper):
    """Bounds that leave a part of the room: `share` of it, around the lower end or the middle."""

    def __init__(self, env: Any, share: float, at: float = 0.5) -> None:
        super().__init__(env)
        space = env.action_space
        width = space.high - space.low
        low = space.low + at * (1.0 - share) * width
        self.action_space = gym.spaces.Box(
            low.astype(np.float32), (low + share * width).astype(np.float32)
        )


class Amplified(gym.ActionWrapper):
    """Small actions already have the effect of the largest: nearly all are at the bounds."""

    def __init__(self, env: Any, factor: float) -> None:
        super().__init__(env)
        self.factor = factor

    def action(self, action: Any) -> Any:
        space = self.env.action_space
        return np.clip(np.asarray(action) * self.factor, space.low, space.high)
