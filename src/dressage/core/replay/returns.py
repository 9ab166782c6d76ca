"""Rewards of several steps, within the rows of a ring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.replay.ring import Ring, Rows

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


class Ahead(NamedTuple):
    """What follows `[B]` transitions up to their bootstrap."""

    reward: Floats  # discounted sum
    discount: Floats  # of the value after it: gamma^steps, 0 where the task ended
    terminated: Bools
    truncated: Bools
    last: Rows  # the row whose next_obs the bootstrap is from


def n_step_ahead(
    ring: Ring,
    rows: Rows,
    envs: Rows,
    n_step: int,
    gamma: float,
    scaled: Callable[[Floats], Floats],
) -> Ahead:
    """`sum_k gamma^k r_k` over at most `n_step` steps of one episode, as far as they are stored."""
    if n_step == 1:
        terminated = ring.take("terminated", rows, envs)
        return Ahead(
            scaled(ring.take("reward", rows, envs)),
            np.float32(gamma) * ~terminated,
            terminated,
            ring.take("truncated", rows, envs),
            rows,
        )
    steps = np.arange(n_step)
    ahead = np.minimum(rows[:, None] + steps, ring.high - 1)  # [B, n]
    env = envs[:, None]
    ended = ring.take("terminated", ahead, env) | ring.take("truncated", ahead, env)
    counted = rows[:, None] + steps < ring.high
    counted[:, 1:] &= ~np.logical_or.accumulate(ended, axis=1)[:, :-1]
    reward = scaled(ring.take("reward", ahead, env)) * counted
    length = counted.sum(axis=1)
    last = rows + length - 1
    terminated = ring.take("terminated", last, envs)
    powers = (gamma**steps).astype(np.float32)
    discount: Any = (gamma**length).astype(np.float32) * ~terminated
    return Ahead(reward @ powers, discount, terminated, ring.take("truncated", last, envs), last)


def discounted_ahead(
    reward: Floats, terminated: Bools, truncated: Bools, gamma: float
) -> tuple[Floats, Floats]:
    """Returns that followed `[T, N]` steps, and the weight of what of them is not known: 0 where
    the task ended, gamma^k where the clock or the newest row ended it k steps later."""
    returns, unknown = np.zeros_like(reward), np.ones_like(reward)
    g, u = np.zeros(reward.shape[1], np.float32), np.ones(reward.shape[1], np.float32)
    for t in range(len(reward) - 1, -1, -1):
        ended = terminated[t] | truncated[t]
        g = reward[t] + np.float32(gamma) * np.where(ended, np.float32(0), g)
        u = np.float32(gamma) * np.where(ended, ~terminated[t], u).astype(np.float32)
        returns[t], unknown[t] = g, u
    return returns, unknown
