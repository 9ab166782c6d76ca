"""Five environments that each need one more part of a learner to work than the one before.

Andy Jones, "Debugging RL, without the agonizing pain" (2021), "Use probe environments". All are one
or two steps long and have known values; `dressage.envs.probes:ConstantReward` names one. Where the
article shows zeros, ones are shown: of a zero a ReLU network learns through its last bias alone.

`action`: `discrete` or `continuous` (one number in [-1, 1], whose reward is in proportion).
`observation`: `vector` (one number) or `discrete` (for tables). `right`: 1 or -1, which of the two
actions pays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Floats = np.ndarray[Any, np.dtype[np.float32]]


class ProbeEnv(gym.Env, ABC):  # type: ignore[misc]
    """What they share; `levels`: the observations there are, `length`: steps of an episode."""

    levels: ClassVar[tuple[int, ...]] = (1,)
    choices: ClassVar[int] = 1
    length: ClassVar[int] = 1

    def __init__(
        self, action: str = "discrete", observation: str = "vector", right: int = 1
    ) -> None:
        self.right = right
        self.discrete_observation = observation == "discrete"
        self.observation_space: spaces.Space[Any] = (
            spaces.Discrete(len(self.levels))
            if self.discrete_observation
            else spaces.Box(-1.0, 1.0, (1,), np.float32)
        )
        self.action_space: spaces.Space[Any] = (
            spaces.Box(-1.0, 1.0, (1,), np.float32)
            if action == "continuous"
            else spaces.Discrete(self.choices)
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t, self.level = 0, self._first_level()
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        reward = self.reward(self.level, self.signed(action))
        self.t, self.level = self.t + 1, self._next_level()
        return self._observe(), reward, self.t >= self.length, False, {}

    def signed(self, action: Any) -> float:
        """An action as a number from -1 to 1."""
        if isinstance(self.action_space, spaces.Box):
            return float(np.clip(np.asarray(action).reshape(-1)[0], -1.0, 1.0))
        return 2.0 * int(action) - 1.0

    @abstractmethod
    def reward(self, level: int, action: float) -> float:
        """For an action from -1 to 1 where `level` is seen."""

    def _first_level(self) -> int:
        return self.levels[int(self.np_random.integers(len(self.levels)))]

    def _next_level(self) -> int:
        return self.level

    def _observe(self) -> Any:
        if self.discrete_observation:
            return self.levels.index(self.level)
        return np.full(1, self.level, np.float32)


class ConstantReward(ProbeEnv):
    """One action, nothing to tell apart, one step, a reward of 1. Its value is 1.

    Fails: the value loss or its optimizer.
    """

    def reward(self, level: int, action: float) -> float:
        return 1.0


class SeenReward(ProbeEnv):
    """One action, one step; the reward, 1 or -1, is what is seen, and so is its value.

    Fails alone: the way of the gradient through the network to the observation.
    """

    levels = (-1, 1)

    def reward(self, level: int, action: float) -> float:
        return float(level)


class LaterReward(ProbeEnv):
    """One action, two steps, seen as -1 and 1; a reward of 1 at the end. Values: gamma and 1.

    Fails alone: discounting, or the returns and their ends.
    """

    levels = (-1, 1)
    length = 2

    def _first_level(self) -> int:
        return -1

    def _next_level(self) -> int:
        return 1

    def reward(self, level: int, action: float) -> float:
        return float(level == 1)


class BetterAction(ProbeEnv):
    """Two actions, nothing to tell apart, one step; one pays 1, the other -1.

    Fails alone: advantages, the policy's loss or its update.
    """

    choices = 2

    def reward(self, level: int, action: float) -> float:
        return self.right * action


class BetterActionSeen(ProbeEnv):
    """Two actions, one step; which pays 1 and which -1 depends on what is seen, -1 or 1.

    Fails alone: policy and value together, such as batches of stale or mixed-up experience.
    """

    levels = (-1, 1)
    choices = 2

    def reward(self, level: int, action: float) -> float:
        return self.right * level * action
