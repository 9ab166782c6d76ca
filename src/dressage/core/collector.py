"""`Collector`: steps environments with a policy and gives `Steps`.

It owns the environments, the current observation, the recurrent carry, the normalisers and the
counters of episodes; it resets environments itself, each episode with a seed of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.normalizer import ObsNormalizer, RewardNormalizer
from dressage.core.rng import Rng
from dressage.core.steps import Steps, Tree, tree_map
from dressage.envs.batch import EnvBatch, check_finite, obs_hashes
from dressage.envs.restore import (
    Restored,
    TraceRecorder,
    load_state,
    restore,
    save_state,
    traces_from_arrays,
)
from dressage.errors import RunError

Arrays = dict[str, npt.NDArray[Any]]


class Acted(NamedTuple):
    """What a policy returns for N environments."""

    action: npt.NDArray[np.float32]  # [N, A]
    carry: npt.NDArray[np.float32] | None  # [N, C]
    extras: dict[str, npt.NDArray[Any]]  # what learning needs of this moment: log_prob, value


class Episode(NamedTuple):
    """A finished episode, in the environment's own reward."""

    env_steps: int  # of the whole run, when it ended
    episode_return: float
    length: int
    truncated: bool
    success: float  # NaN where the environment does not say
    env_index: int


Act = Callable[[Tree, "npt.NDArray[np.float32] | None", "npt.NDArray[np.bool_] | None", int], Acted]
"""`act(obs, carry, mask, index) -> Acted`; `index` counts the vector steps of the run."""


class Collector:
    """Collects `[T, N, …]` transitions; everything in it is saved and restored with the run."""

    def __init__(
        self,
        batch: EnvBatch,
        rng: Rng,
        *,
        obs_normalizer: ObsNormalizer | None = None,
        reward_normalizer: RewardNormalizer | None = None,
    ) -> None:
        n = batch.n_envs
        self.batch, self.rng, self.n_envs = batch, rng, n
        self.obs_normalizer, self.reward_normalizer = obs_normalizer, reward_normalizer
        self.carry: npt.NDArray[np.float32] | None = None
        self.raw = False  # whether steps are given as they came, for a memory that normalises
        self.first = np.ones(n, bool)  # the current observation begins an episode
        self.vector_steps = 0
        self.episode_index = np.zeros(n, np.int64)  # resets of each environment so far
        self.episode_return = np.zeros(n)
        self.episode_length = np.zeros(n, np.int64)
        self.episodes: list[Episode] = []  # finished since the trainer last took them
        self._trace = TraceRecorder(n, batch.action_codec.size)  # for restoring by replay

    @property
    def env_steps(self) -> int:
        return self.vector_steps * self.n_envs

    def use_carry(self, size: int) -> None:
        """Gives each environment a recurrent carry of `size` numbers, zero at first."""
        self.carry = np.zeros((self.n_envs, size), np.float32) if size else None

    def keep_raw(self) -> None:
        """Steps are to be kept for long: as the environment gave them, and with the successors'
        action masks (`next_mask`). The normalisers move on all the same."""
        self.raw = True

    def start(self) -> None:
        """Resets every environment for the first time."""
        self._begin(list(range(self.n_envs)))

    def _begin(self, ended: list[int]) -> None:
        """Resets environments, each with the seed of its next episode."""
        seeds = [self.rng.episode_seed(i, int(self.episode_index[i])) for i in ended]
        self.batch.reset_many(ended, seeds)
        for i, seed in zip(ended, seeds, strict=True):
            self.episode_index[i] += 1
            self.first[i] = True
            if self.carry is not None:
                self.carry[i] = 0.0
            self._trace.reset(i, seed, bool(self.batch.continued[i]))

    def collect(self, act: Act, length: int) -> Steps:
        """`length` steps of every environment."""
        batch, n = self.batch, self.n_envs
        normalizer = self.obs_normalizer
        # Nothing is known before the first collection: there the statistics follow each step.
        learning_scale = normalizer is not None and not normalizer.known
        raw_obs = tree_map(lambda x: np.empty((length, *x.shape), x.dtype), batch.obs)
        raw_next = tree_map(np.empty_like, raw_obs)
        keep_seen = normalizer is not None and not self.raw
        obs = tree_map(np.empty_like, raw_obs) if keep_seen else raw_obs
        action = np.empty((length, n, batch.action_codec.size), np.float32)
        reward = np.empty((length, n), np.float32)
        terminated = np.empty((length, n), bool)
        truncated = np.empty((length, n), bool)
        first = np.empty((length, n), bool)
        mask = None if batch.mask is None else np.empty((length, *batch.mask.shape), bool)
        next_mask = None if mask is None or not self.raw else np.empty_like(mask)
        carry = None if self.carry is None else np.empty((length, *self.carry.shape), np.float32)
        extras: dict[str, Any] = {}

        for t in range(length):
            _put(raw_obs, t, batch.obs)
            first[t] = self.first
            if mask is not None:
                mask[t] = batch.mask
            if carry is not None:
                carry[t] = self.carry
            seen = batch.obs
            if normalizer is not None:
                if learning_scale:
                    normalizer.update(batch.obs)
                seen = normalizer(batch.obs)
                if keep_seen:
                    _put(obs, t, seen)
            acted = act(seen, self.carry, batch.mask, self.vector_steps)
            action[t] = acted.action
            for key, value in acted.extras.items():
                if t == 0:
                    extras[key] = np.empty((length, *value.shape), value.dtype)
                extras[key][t] = value
            self.carry = acted.carry
            batch.step(acted.action)
            self._trace.step(acted.action)
            self.vector_steps += 1
            _put(raw_next, t, batch.next_obs)
            reward[t], terminated[t], truncated[t] = batch.reward, batch.terminated, batch.truncated
            if next_mask is not None:
                next_mask[t] = batch.mask
            self._account()

        check_finite(raw_obs, reward, self.vector_steps - length)
        check_finite(raw_next, reward, self.vector_steps - length)
        extras["first"] = first
        if mask is not None:
            extras["mask"] = mask
        if next_mask is not None:
            extras["next_mask"] = next_mask
        if carry is not None:
            extras["carry"] = carry
        next_obs = normalizer(raw_next) if keep_seen and normalizer is not None else raw_next
        if normalizer is not None and not learning_scale:
            normalizer.update(raw_obs)
        if self.reward_normalizer is not None:
            self.reward_normalizer.update(reward, terminated | truncated)
            if not self.raw:
                reward = self.reward_normalizer.scaled(reward)
        return Steps(obs, action, reward, terminated, truncated, next_obs, extras)

    def _account(self) -> None:
        """Counts the step just made, and resets the environments whose episode it ended."""
        batch = self.batch
        self.episode_return += batch.raw_reward
        self.episode_length += 1
        self.first[:] = False
        ended = np.flatnonzero(batch.terminated | batch.truncated).tolist()
        if not ended:
            return
        truncated = batch.truncated & ~batch.terminated
        for i in ended:
            if batch.game_over[i]:  # else only a life was lost
                self._finish(i, bool(truncated[i]))
        self._begin(ended)
        for i in ended:
            if not (batch.game_over[i] or batch.continued[i]):  # the game ended within the reset
                self._finish(i, bool(truncated[i]))

    def _finish(self, i: int, truncated: bool) -> None:
        self.episodes.append(
            Episode(
                self.env_steps,
                float(self.episode_return[i]),
                int(self.episode_length[i]),
                truncated,
                float(self.batch.success[i]),
                i,
            )
        )
        self.episode_return[i] = 0.0
        self.episode_length[i] = 0

    def collected(self, actions: npt.NDArray[np.float32], episodes: Sequence[Episode]) -> None:
        """Takes account of `[T, N]` steps that the native engine made with the batch and the
        arrays of this Collector, resets included; its environments have no lives to lose."""
        before, n = self.vector_steps, self.n_envs
        ends = {e.env_index: e.env_steps // n - before for e in episodes}  # the last of each
        self.vector_steps += len(actions)
        self.episodes += episodes
        self._trace.rollout(actions, ends, self._current_seed)

    def _current_seed(self, i: int) -> int:
        return self.rng.episode_seed(i, int(self.episode_index[i]) - 1)

    @property
    def trace_bytes(self) -> int:
        """Memory of the actions that bring the unfinished episodes back."""
        return self._trace.kept_bytes

    def take_episodes(self) -> list[Episode]:
        episodes, self.episodes = self.episodes, []
        return episodes

    # -- state -----------------------------------------------------------------------------------

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything needed to go on from here: arrays, and what JSON holds."""
        arrays: Arrays = {
            "first": self.first,
            "episode_index": self.episode_index,
            "episode_return": self.episode_return,
            "episode_length": self.episode_length,
        }
        if self.carry is not None:
            arrays["carry"] = self.carry
        if self.reward_normalizer is not None:
            arrays |= self.reward_normalizer.state()
        arrays |= {f"trace/{k}": v for k, v in self._trace.to_arrays().items()}
        plain = {
            "vector_steps": self.vector_steps,
            "obs_hashes": obs_hashes(self.batch),
            "env_states": save_state(self.batch),
        }
        return arrays, plain

    def load(self, arrays: Arrays, plain: dict[str, Any]) -> list[Restored]:
        """Brings everything back, environments by replay; says of each whether it is exact."""
        if len(arrays["first"]) != self.n_envs:
            raise RunError(
                f"The checkpoint has {len(arrays['first'])} environments, this run {self.n_envs}: "
                "resume with the same n_envs."
            )
        self.vector_steps = plain["vector_steps"]
        for name in ("first", "episode_index", "episode_return", "episode_length"):
            getattr(self, name)[:] = arrays[name]
        if self.carry is not None:
            self.carry = arrays["carry"].copy()
        if self.reward_normalizer is not None:
            self.reward_normalizer.load(arrays)
        saved = {
            key.removeprefix("trace/"): v for key, v in arrays.items() if key.startswith("trace/")
        }
        traces = traces_from_arrays(saved, self.n_envs)
        self._trace = TraceRecorder.from_traces(traces, self.batch.action_codec.size)
        load_state(self.batch, plain["env_states"])
        restored = restore(self.batch, traces, plain["obs_hashes"])
        ended = np.flatnonzero(self.batch.terminated | self.batch.truncated).tolist()
        if ended:  # only where the replay went astray: those begin a new episode
            self.episode_return[ended], self.episode_length[ended] = 0.0, 0
            self._begin(ended)
        return restored


def _put(rows: Tree, t: int, values: Tree) -> None:
    if isinstance(rows, dict):
        for key, array in rows.items():
            array[t] = values[key]
    else:
        rows[t] = values
