"""N environments stepped together, without autoreset, into arrays allocated once.

The order of a vector step, which the Collector follows:

1. store `batch.obs` (and `batch.mask`), choose actions;
2. `batch.step(flat_actions)` fills `next_obs` (the true successor), `reward`, `raw_reward`,
   `terminated`, `truncated`, `success`, `game_over`; `obs` becomes equal to `next_obs`;
3. for environments that ended, `batch.reset_many(indices, seeds)` overwrites their rows of `obs`,
   `mask` and `continued`; `next_obs` keeps the true successor.

Every array is reused: copy what must outlive the next call. All backends give the same
trajectories for the same seeds and actions.
"""

from __future__ import annotations

import copy
import hashlib
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dressage.envs.spaces import ActionCodec, ObsCodec, Observation
from dressage.envs.wrappers import layers
from dressage.errors import EnvError

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
# The unfinished episode of one environment: (seed, flat actions [t, A]) for each reset since the
# last one that really restarted it; more than one only when resets continue (episodic_life).
Segments = Sequence[tuple[int, Floats]]


@dataclass(frozen=True)
class BatchArrays:
    """What a batch fills; the rows of one environment are row i of each."""

    obs: Observation  # current observation, [N, ...]
    next_obs: Observation  # successor of the last step, before any reset
    action: Floats  # [N, A], how processes are told
    reward: Floats  # what is learned from
    raw_reward: NDArray[np.float64]  # what episode returns add up
    terminated: Bools
    truncated: Bools
    success: Floats  # NaN where info has neither is_success nor success
    game_over: Bools  # the raw episode ended; differs from the ends above for lives only
    continued: Bools  # the last reset went on with the same game
    mask: Bools  # allowed values in `obs`, [N, sum of categories]

    @classmethod
    def allocate(cls, n_envs: int, obs: ObsCodec, action: ActionCodec) -> BatchArrays:
        return cls(
            obs=obs.allocate(n_envs),
            next_obs=obs.allocate(n_envs),
            action=np.zeros((n_envs, action.size), np.float32),
            reward=np.zeros(n_envs, np.float32),
            raw_reward=np.zeros(n_envs, np.float64),
            terminated=np.zeros(n_envs, np.bool_),
            truncated=np.zeros(n_envs, np.bool_),
            success=np.full(n_envs, np.nan, np.float32),
            game_over=np.zeros(n_envs, np.bool_),
            continued=np.zeros(n_envs, np.bool_),
            mask=np.ones((n_envs, sum(action.categories)), np.bool_),
        )

    def map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> BatchArrays:
        """The same arrays after `change`: rows of them, or their place in shared memory."""
        changed: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            tree = isinstance(value, dict)
            changed[f.name] = {k: change(v) for k, v in value.items()} if tree else change(value)
        return replace(self, **changed)


def copy_rows(target: Observation, source: Observation, rows: Any = slice(None)) -> None:
    if isinstance(target, dict):
        assert isinstance(source, dict)
        for name, array in target.items():
            array[rows] = source[name][rows]
    else:
        target[rows] = source[rows]


class EnvBatch(ABC):
    """N environments of one kind behind arrays."""

    backend: str = ""
    n_envs: int
    obs_codec: ObsCodec
    action_codec: ActionCodec
    arrays: BatchArrays
    has_mask: bool = False  # known after the first reset

    def _adopt(self, arrays: BatchArrays) -> None:
        self.arrays = arrays
        self.obs, self.next_obs = arrays.obs, arrays.next_obs
        self.reward, self.raw_reward = arrays.reward, arrays.raw_reward
        self.terminated, self.truncated = arrays.terminated, arrays.truncated
        self.success, self.game_over = arrays.success, arrays.game_over
        self.continued = arrays.continued

    @property
    def mask(self) -> Bools | None:
        """Allowed values in the current observation, None when the environment has no masks."""
        return self.arrays.mask if self.has_mask else None

    def reset(self, index: int, seed: int) -> None:
        self.reset_many([index], [seed])

    @abstractmethod
    def reset_many(self, indices: Sequence[int], seeds: Sequence[int]) -> None: ...

    @abstractmethod
    def step(self, flat_actions: Floats) -> None: ...

    @abstractmethod
    def replay(self, segments: Sequence[Segments]) -> None:
        """Bring every environment to where its segments end; see restore.py."""

    @abstractmethod
    def states(self) -> list[list[dict[str, Any]]]:
        """Per environment the layers' state_dict() from before the unfinished episode."""

    @abstractmethod
    def load_states(self, states: Sequence[list[dict[str, Any]]]) -> None:
        """Give the layers back what `states` returned; before `replay`."""

    @abstractmethod
    def close(self) -> None: ...

    def single(self) -> Any:
        """An environment of this kind to ask, not to step."""
        raise EnvError(
            f"backend={self.backend} has no single environment to ask: use backend=inline."
        )

    def workers_busy(self) -> float | None:
        """How many worker processes were in a step or a reset, on average over the time they were
        waited for since this was last asked; None without workers."""
        return None

    def __enter__(self) -> EnvBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InlineBatch(EnvBatch):
    """Environments in this process, one after the other: nothing beats it when steps are cheap."""

    backend = "inline"

    def __init__(
        self,
        envs: Sequence[Any],
        scale_actions: bool = True,
        arrays: BatchArrays | None = None,
        first_index: int = 0,  # of these environments in the whole batch, for messages
    ) -> None:
        self.envs = list(envs)
        self.n_envs = len(self.envs)
        self.obs_codec = ObsCodec.from_space(self.envs[0].observation_space)
        self.action_codec = ActionCodec.from_space(self.envs[0].action_space, scale_actions)
        self.first_index = first_index
        self._adopt(arrays or BatchArrays.allocate(self.n_envs, self.obs_codec, self.action_codec))
        self._mask_functions: list[Any] = [None] * self.n_envs
        self._first_reset = True
        self._stateful = [
            [layer for layer in layers(env) if _has_state(layer)] for env in self.envs
        ]
        self._before_episode: list[list[dict[str, Any]]] = [[] for _ in self.envs]
        self.env_steps = 0  # vector steps so far, for messages

    def single(self) -> Any:
        return self.envs[0]

    def reset_many(self, indices: Sequence[int], seeds: Sequence[int]) -> None:
        for i, seed in zip(indices, seeds, strict=True):
            before = [copy.deepcopy(layer.state_dict()) for layer in self._stateful[i]]
            self.terminated[i] = self.truncated[i] = False
            try:
                obs, info = self.envs[i].reset(seed=seed)
                if self._first_reset:
                    self._detect_mask(info)
                self.obs_codec.encode_into(obs, self.obs, i)
                if self.has_mask:
                    self._read_mask(i, info)
            except Exception as error:
                raise self._raised(i, "reset", error) from error
            self.continued[i] = continued = bool(info.get("continued", False))
            if not continued:
                self._before_episode[i] = before

    def step(self, flat_actions: Floats) -> None:
        self.success.fill(np.nan)
        for i, action in enumerate(self.action_codec.decode_batch(flat_actions)):
            self._step_one(i, action)
        copy_rows(self.obs, self.next_obs)
        self.env_steps += 1

    def _step_one(self, i: int, action: Any) -> None:
        try:
            obs, reward, terminated, truncated, info = self.envs[i].step(action)
            self.obs_codec.encode_into(obs, self.next_obs, i)
            try:
                self.reward[i] = self.raw_reward[i] = reward
            except (TypeError, ValueError):
                raise _wrong_reward(reward) from None
            self.terminated[i] = terminated
            self.truncated[i] = truncated
            self.game_over[i] = terminated or truncated
            if info:
                self._read_info(i, info)
            if self.has_mask:
                self._read_mask(i, info)
        except Exception as error:
            raise self._raised(i, "step", error) from error

    def _read_info(self, i: int, info: dict[str, Any]) -> None:
        if "raw_reward" in info:
            self.raw_reward[i] = info["raw_reward"]
        if "game_over" in info:
            self.game_over[i] = info["game_over"]
        success = info.get("is_success", info.get("success"))
        if success is not None:
            self.success[i] = float(success)

    def _detect_mask(self, info: dict[str, Any]) -> None:
        self._first_reset = False
        if not self.action_codec.categories:
            return
        if "action_mask" in info:
            self.has_mask = True
        elif all(env.has_wrapper_attr("action_masks") for env in self.envs):
            self.has_mask = True
            self._mask_functions = [env.get_wrapper_attr("action_masks") for env in self.envs]

    def _read_mask(self, i: int, info: dict[str, Any]) -> None:
        function = self._mask_functions[i]
        given = function() if function is not None else info.get("action_mask")
        if given is None:
            raise EnvError(
                "info has no 'action_mask', though the first reset gave one: put it into the info "
                "of every reset() and step()."
            )
        try:
            self.arrays.mask[i] = self.action_codec.mask(given)
        except EnvError:
            if not (self.terminated[i] or self.truncated[i]):
                raise
            self.arrays.mask[i] = True  # nothing is chosen in a state where the episode ended

    def _raised(self, i: int, where: str, error: Exception) -> EnvError:
        if isinstance(error, EnvError):  # ours: a sentence already
            return EnvError(f"environment {self.first_index + i}: {error}")
        text = "".join(traceback.format_exception(error))
        return EnvError(
            f"environment {self.first_index + i} raised {type(error).__name__} in {where}() after "
            f"{self.env_steps} vector steps: {error}\n{text}"
        )

    def replay(self, segments: Sequence[Segments]) -> None:
        for i, env in enumerate(self.envs):
            for layer in layers(env):
                if hasattr(type(layer), "force_reset"):
                    layer.force_reset()
            for seed, actions in segments[i]:
                self.reset(i, seed)
                for action in self.action_codec.decode_batch(actions):
                    self._step_one(i, action)
                if len(actions):
                    copy_rows(self.obs, self.next_obs, i)

    def states(self) -> list[list[dict[str, Any]]]:
        return [list(states) for states in self._before_episode]

    def load_states(self, states: Sequence[list[dict[str, Any]]]) -> None:
        for i, (stateful, saved) in enumerate(zip(self._stateful, states, strict=True)):
            if len(stateful) != len(saved):
                raise EnvError(
                    f"environment {self.first_index + i} has {len(stateful)} layers with "
                    f"state_dict(), the checkpoint has {len(saved)}: it was made with other "
                    "wrappers or another version."
                )
            for layer, state in zip(stateful, saved, strict=True):
                layer.load_state_dict(state)
            self._before_episode[i] = list(saved)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def _wrong_reward(reward: Any) -> EnvError:
    found = f"has shape {shape}" if (shape := np.shape(reward)) else f"is {reward!r}"
    return EnvError(
        f"reward {found}, expected one number: return float(reward) from step(), with one agent's "
        "reward in it."
    )


def _has_state(layer: Any) -> bool:
    # Looked up on the class: a wrapper forwards attributes of what it wraps in some versions.
    return hasattr(type(layer), "state_dict") and hasattr(type(layer), "load_state_dict")


def obs_hashes(batch: EnvBatch) -> list[str]:
    """Per environment the hash of its current canonical observation and mask."""
    parts = list(batch.obs.values()) if isinstance(batch.obs, dict) else [batch.obs]
    if batch.mask is not None:
        parts.append(batch.mask)
    return [
        hashlib.blake2b(b"".join(part[i].tobytes() for part in parts), digest_size=16).hexdigest()
        for i in range(batch.n_envs)
    ]


def check_finite(obs: Observation, reward: NDArray[Any], began: int = 0) -> None:
    """EnvError when an observation or reward [T, N, ...] is NaN or infinite. Once per collect;
    `began`: the vector steps made before these."""
    parts = obs if isinstance(obs, dict) else {"observation": obs}
    for name, array in {**parts, "reward": reward}.items():
        if array.dtype.kind != "f" or np.isfinite(array).all():
            continue
        place = np.argwhere(~np.isfinite(array))[0]
        column = f", column {place[2]}" if len(place) > 2 else ""
        raise EnvError(
            f"environment {place[1]} gave {array[tuple(place)]} as {name}{column} at its step "
            f"{began + place[0]:,}, expected a finite number: check step() for divisions by "
            "zero and overflow, or clip it in a wrapper."
        )
