"""Observations and rewards normalised by running statistics, which the policy carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.steps import Tree
from dressage.math.running import RunningMoments

EPSILON = 1e-8
Arrays = dict[str, npt.NDArray[Any]]


class ObsNormalizer:
    """Mean and deviation of the vector part of observations; images pass through.

    The statistics stand still while steps are collected and move between collections (but for the
    first one, where they follow each step): steps that lie side by side are on one scale, and the
    statistics cost one operation a rollout. Steps keep the numbers that the policy saw when it
    acted, so the first importance ratio is exactly 1.
    """

    def __init__(self, size: int, clip: float) -> None:
        self.moments = RunningMoments((size,))
        self.clip = np.float32(clip)
        self.refresh()

    @property
    def known(self) -> bool:
        return self.moments.count > 0

    def refresh(self) -> None:
        """After a change of the moments."""
        self._mean = self.moments.mean.astype(np.float32)
        self._scale = (1.0 / np.sqrt(self.moments.var + EPSILON)).astype(np.float32)

    def __call__(self, obs: Tree) -> Tree:
        if isinstance(obs, dict):
            return obs | {"vector": self(obs["vector"])}
        return np.clip((obs - self._mean) * self._scale, -self.clip, self.clip)

    def update(self, obs: Tree) -> None:
        """Merges raw observations `[..., D]`."""
        self.moments.update(obs["vector"] if isinstance(obs, dict) else obs)
        self.refresh()

    def state(self) -> Arrays:
        return {f"normalizer/obs/{k}": v for k, v in self.moments.state().items()}

    def load(self, arrays: Arrays) -> None:
        self.moments.load({k: arrays[f"normalizer/obs/{k}"] for k in self.moments.state()})
        self.refresh()


class RewardNormalizer:
    """Divides rewards by the running deviation of the discounted return (37 details of PPO)."""

    def __init__(self, n_envs: int, gamma: float, clip: float) -> None:
        self.moments = RunningMoments(())
        self.discounted = np.zeros(n_envs)  # return so far of each environment's episode
        self.gamma = gamma
        self.clip = np.float32(clip)

    def update(self, reward: npt.NDArray[np.float32], done: npt.NDArray[np.bool_]) -> None:
        """Merges `[T, N]` raw rewards, with where episodes ended."""
        returns = np.empty(reward.shape)
        keep = ~done
        for t in range(len(reward)):
            self.discounted *= self.gamma
            self.discounted += reward[t]
            returns[t] = self.discounted
            self.discounted *= keep[t]
        self.moments.update(returns)

    def scaled(self, reward: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        scale = np.float32(1.0 / np.sqrt(self.moments.var + EPSILON))
        clipped: npt.NDArray[np.float32] = np.clip(reward * scale, -self.clip, self.clip)
        return clipped

    def state(self) -> Arrays:
        state = {f"normalizer/reward/{k}": v for k, v in self.moments.state().items()}
        return state | {"normalizer/reward/discounted": self.discounted.copy()}

    def load(self, arrays: Arrays) -> None:
        self.moments.load({k: arrays[f"normalizer/reward/{k}"] for k in self.moments.state()})
        self.discounted[:] = arrays["normalizer/reward/discounted"]
