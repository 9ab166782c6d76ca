"""Hindsight experience replay, Andrychowicz et al. 2017 (arXiv 1707.01495).

A drawn step is learned from as if its goal had been one that was really reached (section 3.2): a
state that came later in its episode (`future`), the last of the episode (`final`), or any of it
(`episode`). The new reward is asked of the environment: `compute_reward(achieved, desired, info)`,
on arrays `[B, …]` and with an empty info; it must be a function of its arguments alone. Whether the
task ends there is asked of `compute_terminated` where the environment has it, else it stays.

Deviations: relabelling happens when a batch is drawn, with a new goal each time, in place of `k`
copies stored with each step; a share `k / (k + 1)` of a batch is relabelled. Steps of an episode
that still goes on have goals too, from what is there of it; `final` leaves them as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.replay.returns import Ahead
from dressage.core.replay.ring import Ring, Rows
from dressage.core.steps import Tree
from dressage.envs.batch import EnvBatch
from dressage.envs.spaces import Leaf, ObsCodec
from dressage.envs.wrappers import layers
from dressage.errors import ConfigError

Floats = npt.NDArray[np.float32]
OPEN = np.iinfo(np.int64).max  # the end of an episode that still goes on


class Episodes:
    """Of each row of a ring, the first and the last row of its episode; made from the ring."""

    def __init__(self, ring: Ring) -> None:
        self.ring, shape = ring, (ring.capacity, ring.n_envs)
        self.first, self.last = np.zeros(shape, np.int64), np.full(shape, OPEN)
        self.begun = np.full(ring.n_envs, ring.low)  # of the episodes that go on
        self.extend(ring.low)

    def extend(self, begin: int) -> None:
        """Takes the rows from `begin` on into account."""
        ring = self.ring
        begin = max(begin, ring.low)
        rows, envs = np.arange(begin, ring.high)[:, None], np.arange(ring.n_envs)
        if not rows.size:
            return
        starts = ring.take("extras/first", rows, envs)
        stops = ring.take("terminated", rows, envs) | ring.take("truncated", rows, envs)
        stops[:-1] |= starts[1:]
        for env in np.flatnonzero(starts[0]).tolist():
            self._close(env, begin - 1)  # also where a resume could not go on with the episode
            self.begun[env] = begin
        first = np.maximum.accumulate(np.where(starts, rows, self.begun), axis=0)
        last = np.minimum.accumulate(np.where(stops, rows, OPEN)[::-1], axis=0)[::-1]
        for env in np.flatnonzero(last[0] != OPEN).tolist():
            self._close(env, int(last[0, env]))
        places = rows[:, 0] % ring.capacity
        self.first[places], self.last[places], self.begun = first, last, first[-1]

    def _close(self, env: int, last: int) -> None:
        """The episode that went on in an environment ended at row `last`."""
        rows = np.arange(max(self.begun[env], self.ring.low), last + 1)
        self.last[rows % self.ring.capacity, env] = last

    def of(self, rows: Rows, envs: Rows) -> tuple[Rows, Rows]:
        """First and last rows `[B]` that are stored; last is OPEN where that is not known yet."""
        places = rows % self.ring.capacity
        return np.maximum(self.first[places, envs], self.ring.low), self.last[places, envs]


class Hindsight:
    """Puts other goals into drawn transitions."""

    def __init__(self, way: str, k: float, batch: EnvBatch) -> None:
        self.way, self.share = way, k / (k + 1.0)
        self.part = "vector" if batch.obs_codec.is_dict else ""
        self.achieved, self.desired = (
            _goal(batch.obs_codec, name) for name in ("achieved_goal", "desired_goal")
        )
        self.env = _goal_env(way, batch)
        self.columns, self.wanted = (
            batch.obs_codec.slices[leaf.name] for leaf in (self.achieved, self.desired)
        )
        self.terminates = hasattr(self.env, "compute_terminated")
        self._try_out()
        self.episodes: Episodes | None = None

    def extend(self, ring: Ring, begin: int) -> None:
        """The ring has new rows from `begin` on."""
        if self.episodes is None:
            self.episodes = Episodes(ring)
        else:
            self.episodes.extend(begin)

    def relabel(
        self,
        uniform: Floats,
        rows: Rows,
        envs: Rows,
        obs: Tree,
        next_obs: Tree,
        ahead: Ahead,
        gamma: float,
        scaled: Any,
    ) -> Ahead:
        """Writes new goals into raw `obs` and `next_obs` `[B, …]`; returns what follows from them.

        `uniform [2, B]`: which are relabelled, and with what.
        """
        assert self.episodes is not None
        first, last = self.episodes.of(rows, envs)
        chosen = uniform[0] < self.share
        if self.way == "final":
            chosen &= last != OPEN
        last = np.minimum(last, self.episodes.ring.high - 1)
        lowest = {"future": rows, "final": last, "episode": first}[self.way]
        source = lowest + (uniform[1].astype(np.float64) * (last - lowest + 1)).astype(np.int64)
        name = f"next_obs/{self.part}" if self.part else "next_obs"
        reached = self.episodes.ring.take(name, source[chosen], envs[chosen])[:, self.columns]
        here, there = (x[self.part] if self.part else x for x in (obs, next_obs))
        here[chosen, self.wanted] = there[chosen, self.wanted] = reached
        asked = there[chosen][:, self.columns], reached
        reward, terminated = ahead.reward.copy(), ahead.terminated.copy()
        reward[chosen] = scaled(self._ask("compute_reward", *asked).astype(np.float32))
        if self.terminates:
            terminated[chosen] = self._ask("compute_terminated", *asked).astype(bool)
        discount = np.float32(gamma) * ~terminated
        return Ahead(reward, discount, terminated, ahead.truncated & ~terminated, ahead.last)

    def _ask(self, function: str, achieved: Floats, desired: Floats) -> npt.NDArray[Any]:
        """`[B, G]` each -> `[B]`."""
        count = len(achieved)
        answer = getattr(self.env, function)(
            achieved.reshape(count, *self.achieved.shape),
            desired.reshape(count, *self.desired.shape),
            {},
        )
        found = np.asarray(answer)
        if found.shape == () and function == "compute_terminated":  # "it never does"
            found = np.full(count, bool(found))
        if found.shape != (count,):
            raise ConfigError(
                f"her={self.way}: {function} gave shape {found.shape} for {count} goals of shape "
                f"{self.achieved.shape}, expected ({count},): make it work on arrays of goals, as "
                "in np.linalg.norm(achieved - desired, axis=-1)."
            )
        return found

    def _try_out(self) -> None:
        goals = np.zeros((2, self.columns.stop - self.columns.start), np.float32)
        self._ask("compute_reward", goals, goals)
        if self.terminates:
            self._ask("compute_terminated", goals, goals)


def _goal_env(way: str, batch: EnvBatch) -> Any:
    """The layer of an environment that knows the reward of a goal."""
    for layer in layers(batch.single()):
        if hasattr(layer, "compute_reward"):
            return layer
    raise ConfigError(
        f"her={way} asks the environment for the reward of another goal, and it has no "
        "compute_reward(achieved_goal, desired_goal, info): define it, or use her=none."
    )


def _goal(codec: ObsCodec, name: str) -> Leaf:
    for leaf in codec.leaves:
        if leaf.name == name and leaf.kind in ("box", "multi_binary"):
            return leaf
        if leaf.name == name:
            raise ConfigError(
                f"her needs goals of numbers, and '{name}' is of kind {leaf.kind}: make it a Box "
                "or MultiBinary in the environment."
            )
    raise ConfigError(
        f"her needs '{name}' in the observation, which has {[leaf.name for leaf in codec.leaves]}: "
        "expected a Dict with observation, achieved_goal and desired_goal; or her=none."
    )
