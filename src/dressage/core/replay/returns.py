"""Rewards of several steps, within the rows of a ring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.replay.ring import Ring, Rows

BLOCK = 64  # rows
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
    # In double and rounded once: a product of matrices adds floats in an order of the machine's,
    # and the C engine in its own.
    powers = (gamma**steps).astype(np.float32).astype(np.float64)
    total = (reward.astype(np.float64) @ powers).astype(np.float32)
    discount: Any = (gamma**length).astype(np.float32) * ~terminated
    return Ahead(total, discount, terminated, ring.take("truncated", last, envs), last)


def discounted_ahead(
    reward: Floats, terminated: Bools, truncated: Bools, gamma: float
) -> tuple[Floats, Floats]:
    """Returns that followed `[T, N]` steps, and the weight of what of them is not known: 0 where
    the task ended, gamma^k where the clock or the newest row ended it k steps later."""
    going = np.float32(gamma) * ~(terminated | truncated)
    cut = np.float32(gamma) * (truncated & ~terminated)
    n_envs = reward.shape[1]
    returns = backward_sums(reward, going, np.zeros(n_envs, np.float32))
    return returns, backward_sums(cut, going, np.ones(n_envs, np.float32))


def backward_sums(x: Floats, factor: Floats, last: Floats) -> Floats:
    """`y[t] = x[t] + factor[t] y[t+1]` over `[T, N]`, with `y[T] = last`.

    In blocks of rows, all at once: a row's sum within its block, and what the block after it counts
    there; then the blocks one after another. A loop over single rows takes twenty times as long.
    """
    length, n_envs = x.shape
    blocks = -(-length // BLOCK)
    pad = blocks * BLOCK - length  # rows before the first: they change nothing after them
    shape = (blocks, BLOCK, n_envs)
    inner = np.concatenate((np.zeros((pad, n_envs), np.float32), x)).reshape(shape)
    weight = np.concatenate((np.zeros((pad, n_envs), np.float32), factor)).reshape(shape)
    inner, weight = inner.copy(), weight.copy()
    for t in range(BLOCK - 2, -1, -1):
        inner[:, t] += weight[:, t] * inner[:, t + 1]
        weight[:, t] *= weight[:, t + 1]
    after = last
    for b in range(blocks - 1, -1, -1):
        inner[b] += weight[b] * after
        after = inner[b, 0]
    return inner.reshape(-1, n_envs)[pad:]
