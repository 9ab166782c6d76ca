"""VectorBatch: a VectorEnv that takes one seed per environment and never resets itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import utils as vector_utils

from dressage.envs.batch import BatchArrays, EnvBatch, Floats, Segments, copy_rows
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import EnvError


class VectorBatch(EnvBatch):
    """A VectorEnv behind the arrays of EnvBatch."""

    backend = "vector"

    def __init__(self, vector: Any, scale_actions: bool = True) -> None:
        if not isinstance(vector, gym.vector.VectorEnv):
            raise EnvError(
                f"vector= made a {type(vector).__name__}, expected a gymnasium.vector.VectorEnv."
            )
        mode = vector.metadata.get("autoreset_mode")
        if mode != gym.vector.AutoresetMode.DISABLED:
            raise EnvError(
                f"The vector environment has autoreset mode {getattr(mode, 'value', mode)}, "
                "expected Disabled: make it with autoreset_mode=AutoresetMode.DISABLED (the "
                "Collector resets, with one seed an episode)."
            )
        self.vector = vector
        self.n_envs = vector.num_envs
        self.obs_codec = ObsCodec.from_space(vector.single_observation_space)
        self.action_codec = ActionCodec.from_space(vector.single_action_space, scale_actions)
        self._adopt(BatchArrays.allocate(self.n_envs, self.obs_codec, self.action_codec))
        self._first_reset = True
        self._probe_seeds()

    def _probe_seeds(self) -> None:
        """[a, b] and [a, c] must give the same first row and another second one."""
        first = list(range(1, self.n_envs + 1))
        second = [1, *(seed + self.n_envs for seed in first[1:])]
        rows = []
        for seeds in (first, second):
            try:
                obs, _ = self.vector.reset(seed=seeds)
            except Exception as error:
                raise EnvError(
                    "The vector environment does not take one seed per environment: reset(seed=["
                    f"...]) raised {type(error).__name__}: {error}. Use backend=inline or process."
                ) from error
            self._encode(obs, range(self.n_envs), self.obs)
            rows.append([self._row_bytes(i) for i in range(min(2, self.n_envs))])
        if rows[0][0] != rows[1][0] or (self.n_envs > 1 and rows[0][1] == rows[1][1]):
            raise EnvError(
                "The vector environment does not follow one seed per environment: with the seeds "
                "[a, b] and [a, c] its first row must be the same and its second must differ. "
                "Use backend=inline or process."
            )

    def _row_bytes(self, i: int) -> bytes:
        parts = self.obs.values() if isinstance(self.obs, dict) else [self.obs]
        return b"".join(part[i].tobytes() for part in parts)

    def _encode(self, obs: Any, rows: Sequence[int] | range, out: Any) -> None:
        wanted = set(rows)
        space = self.vector.observation_space
        for i, row in enumerate(vector_utils.iterate(space, obs)):
            if i in wanted:
                self.obs_codec.encode_into(row, out, i)

    def _read_mask(self, info: dict[str, Any], rows: Sequence[int] | range) -> None:
        given = info.get("action_mask")
        if self._first_reset and given is not None and self.action_codec.categories:
            self.has_mask = True
        self._first_reset = False
        if not self.has_mask:
            return
        if given is None:
            raise EnvError("info has no 'action_mask', though the first reset gave one.")
        for i in rows:
            if self.terminated[i] or self.truncated[i]:
                self.arrays.mask[i] = True
            else:
                self.arrays.mask[i] = self.action_codec.mask(np.asarray(given[i]))

    def reset_many(self, indices: Sequence[int], seeds: Sequence[int]) -> None:
        per_env: list[int | None] = [None] * self.n_envs
        chosen = np.zeros(self.n_envs, np.bool_)
        for i, seed in zip(indices, seeds, strict=True):
            per_env[i], chosen[i] = int(seed), True
            self.terminated[i] = self.truncated[i] = False
        options = None if chosen.all() else {"reset_mask": chosen}
        obs, info = self.vector.reset(seed=per_env, options=options)
        self._encode(obs, indices, self.obs)
        self._read_mask(info, indices)

    def step(self, flat_actions: Floats) -> None:
        space = self.vector.single_action_space
        actions = vector_utils.concatenate(
            space,
            self.action_codec.decode_batch(flat_actions),
            vector_utils.create_empty_array(space, self.n_envs),
        )
        obs, reward, terminated, truncated, info = self.vector.step(actions)
        every = range(self.n_envs)
        self._encode(obs, every, self.next_obs)
        self.reward[:] = self.raw_reward[:] = reward
        self.terminated[:], self.truncated[:] = terminated, truncated
        np.logical_or(terminated, truncated, out=self.game_over)
        self.success.fill(np.nan)
        for key, target in (
            ("raw_reward", self.raw_reward),
            ("game_over", self.game_over),
            ("success", self.success),
            ("is_success", self.success),
        ):
            if key in info:
                given = np.asarray(info.get("_" + key, np.ones(self.n_envs, np.bool_)))
                target[given] = np.asarray(info[key])[given]
        self._read_mask(info, every)
        copy_rows(self.obs, self.next_obs)

    def replay(self, segments: Sequence[Segments]) -> None:
        """All step together, so each episode starts late enough for all to end at once.

        Until its own start an environment plays a throw-away episode with zero actions.
        """
        if any(len(env) > 1 for env in segments):
            raise EnvError("A vector environment whose resets continue cannot be replayed.")
        lengths = [len(env[0][1]) if env else 0 for env in segments]
        longest = max(lengths)
        seeds = [env[0][0] if env else 0 for env in segments]
        self.reset_many(range(self.n_envs), seeds)
        action = np.zeros((self.n_envs, self.action_codec.size), np.float32)
        for t in range(longest + 1):
            start = [i for i in range(self.n_envs) if t == longest - lengths[i]]
            ended = [
                i
                for i in range(self.n_envs)
                if t < longest - lengths[i] and (self.terminated[i] or self.truncated[i])
            ]
            if rows := sorted(start + ended):
                self.reset_many(rows, [seeds[i] for i in rows])
            if t == longest:
                break
            for i, env in enumerate(segments):
                past = t - (longest - lengths[i])
                action[i] = env[0][1][past] if past >= 0 else 0.0
            self.step(action)

    def states(self) -> list[list[dict[str, Any]]]:
        return [[] for _ in range(self.n_envs)]

    def load_states(self, states: Sequence[list[dict[str, Any]]]) -> None:
        if any(states):
            raise EnvError("The checkpoint has states of layers, a vector environment takes none.")

    def close(self) -> None:
        self.vector.close()
