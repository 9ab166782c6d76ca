"""`NativeBatch`: classic control stepped in C, one more backend with the same trajectories."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import c_char_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dressage.envs.actions import ActionCodec, ActionLeaf
from dressage.envs.batch import BatchArrays, EnvBatch, Floats, Segments, copy_rows
from dressage.envs.make import EnvRecipe
from dressage.envs.spaces import Leaf, ObsCodec
from dressage.errors import EnvError
from dressage.native.face import Double, Int, Int64, Pointer, UInt64, address, library, reason


@dataclass(frozen=True)
class NativeEnv:
    """What Gymnasium's spaces say of an environment that env_*.c has."""

    obs_size: int
    n_actions: int = 0  # 0: one continuous number within [-bound, bound]
    bound: float = 0.0

    def codecs(self, scale_actions: bool) -> tuple[ObsCodec, ActionCodec]:
        obs = Leaf("obs", (), "box", (self.obs_size,), self.obs_size)
        if self.n_actions:
            action = ActionLeaf("action", "discrete", (), "int64", (self.n_actions,), (0,))
        else:
            low, high = (-self.bound,), (self.bound,)
            action = ActionLeaf("action", "box", (1,), "float32", low=low, high=high)
        return ObsCodec((obs,)), ActionCodec((action,), 0, scale_actions)


NATIVE_ENVS = {
    "Acrobot-v1": NativeEnv(6, n_actions=3),
    "CartPole-v0": NativeEnv(4, n_actions=2),
    "CartPole-v1": NativeEnv(4, n_actions=2),
    "MountainCar-v0": NativeEnv(2, n_actions=3),
    "MountainCarContinuous-v0": NativeEnv(2, bound=1.0),
    "Pendulum-v1": NativeEnv(3, bound=2.0),
}


def why_not(recipe: EnvRecipe) -> str:
    """Why a recipe has no native form; "" where it has one."""
    if not isinstance(recipe.env, str) or recipe.env not in NATIVE_ENVS:
        return f"{recipe.env} is not one of {', '.join(NATIVE_ENVS)}"
    if recipe.env_kwargs or recipe.wrappers or recipe.vector is not None:
        return f"{recipe.env} with env_kwargs, wrappers or vector runs in Python only"
    return reason()


@cache
def same_libm() -> bool:
    """Does numpy compute sin, cos and pow as the C library does? Then trajectories are equal to
    the bit; else only until rounding differences have grown."""
    call = library().function("env_libm", [Double, Pointer])
    angles = np.random.default_rng(0).uniform(-7.0, 7.0, 2000)
    ours = np.empty((len(angles), 3))
    for angle, row in zip(angles, ours, strict=True):
        call(angle, address(row, np.float64))
    theirs = np.stack([np.sin(angles), np.cos(angles), [angle**2 for angle in angles]], axis=1)
    return bool((ours == theirs).all())


class NativeBatch(EnvBatch):
    """N environments in C; see env.h for what each call does."""

    backend = "native"

    def __init__(
        self, env: str, n_envs: int, scale_actions: bool = True, time_limit: int | None = None
    ) -> None:
        self.n_envs = n_envs
        self.obs_codec, self.action_codec = NATIVE_ENVS[env].codecs(scale_actions)
        self._adopt(BatchArrays.allocate(n_envs, self.obs_codec, self.action_codec))
        find = library().function
        new = find("env_new", [c_char_p, Int64, Int64, Int], Pointer)
        self.handle = new(env.encode(), n_envs, time_limit or 0, int(scale_actions))
        if not self.handle:
            raise EnvError(f"The native engine cannot make {n_envs} environments '{env}'.")
        self._free = weakref.finalize(self, find("env_free", [Pointer]), self.handle)
        self._reset = find("env_reset", [Pointer, Int64, *[Pointer] * 3])
        self._step = find("env_step", [Pointer, Int64, Int64, *[Pointer] * 6], Int64)
        self._replay = find("env_replay", [Pointer, Int64, UInt64, Int64, *[Pointer] * 7], Int64)
        self._obs = address(self.obs, np.float32)
        self._outputs = (
            address(self.next_obs, np.float32),
            address(self.reward, np.float32),
            address(self.raw_reward, np.float64),
            address(self.terminated, np.bool_),
            address(self.truncated, np.bool_),
        )

    @classmethod
    def from_recipe(cls, recipe: EnvRecipe, n_envs: int, scale_actions: bool = True) -> NativeBatch:
        if why := why_not(recipe):
            raise EnvError(f"There is no native form of this environment: {why}.")
        return cls(str(recipe.env), n_envs, scale_actions, recipe.max_episode_steps)

    def reset_many(self, indices: Sequence[int], seeds: Sequence[int]) -> None:
        index = np.array(indices, np.int64)
        seed = np.array([_checked(seed) for seed in seeds], np.uint64)
        if len(index) != len(seed) or (len(index) and not 0 <= index.min() <= index.max()):
            raise ValueError(f"{len(index)} indices and {len(seed)} seeds, expected one for each")
        if len(index) and index.max() >= self.n_envs:
            raise IndexError(f"environment {index.max()} of {self.n_envs}")
        self.terminated[index] = self.truncated[index] = False
        self._reset(self.handle, len(index), index.ctypes.data, seed.ctypes.data, self._obs)

    def step(self, flat_actions: Floats) -> None:
        actions = np.ascontiguousarray(flat_actions, np.float32).reshape(self.n_envs, 1)
        wrong = self._step(self.handle, 0, self.n_envs, actions.ctypes.data, *self._outputs)
        if wrong >= 0:
            raise self._no_index(wrong, float(actions[wrong, 0]))
        np.logical_or(self.terminated, self.truncated, out=self.game_over)
        copy_rows(self.obs, self.next_obs)

    def _no_index(self, i: int, action: float) -> EnvError:
        return EnvError(
            f"environment {i} got the action {action}, expected an index from 0 to "
            f"{self.action_codec.categories[0] - 1}"
        )

    def replay(self, segments: Sequence[Segments]) -> None:
        for i, episode in enumerate(segments):
            for seed, given in episode:
                actions = np.ascontiguousarray(given, np.float32).reshape(-1)
                where = (_checked(seed), len(actions), actions.ctypes.data)
                wrong = self._replay(self.handle, i, *where, self._obs, *self._outputs)
                if wrong >= 0:
                    raise self._no_index(i, float(actions[wrong]))
        np.logical_or(self.terminated, self.truncated, out=self.game_over)

    def states(self) -> list[list[dict[str, Any]]]:
        return [[] for _ in range(self.n_envs)]  # nothing outlives an episode

    def load_states(self, states: Sequence[list[dict[str, Any]]]) -> None:
        if len(states) != self.n_envs or any(states):
            raise EnvError(
                f"The checkpoint has {len(states)} environments, some with wrappers that keep "
                f"something, this run has {self.n_envs} native ones: resume with the same settings."
            )

    def close(self) -> None:
        self._free()


def _checked(seed: int) -> int:
    if not 0 <= seed < 2**64:
        raise EnvError(f"seed is {seed}, expected a whole number from 0 to 2**64 - 1")
    return int(seed)
