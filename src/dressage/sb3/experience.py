"""What SB3's memories hold, as `Steps` of ours, and what is measured of that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space

from dressage.core.steps import Steps
from dressage.envs.actions import ActionCodec

Floats = npt.NDArray[np.float32]
MOST_ONE_HOT = 1024  # of a Discrete observation


class Ended(NamedTuple):
    """An episode that the clock ended, at row `t` of a rollout in environment `env`: SB3 adds the
    value of what would have followed to its reward."""

    t: int
    env: int
    reward: float  # without that


def has_vectors(space: spaces.Space[Any]) -> bool:
    """Whether a part of an observation is a vector, and not an image."""
    if isinstance(space, spaces.Dict):
        return any(has_vectors(part) for part in space.spaces.values())
    if isinstance(space, spaces.Discrete):
        return bool(space.n <= MOST_ONE_HOT)
    return isinstance(space, spaces.Box) and not is_image_space(space)


def vectors(obs: Any, space: spaces.Space[Any]) -> Floats | None:
    """Observations `[T, N, …]` as the network sees them, flat: `[T, N, D]`. None of images."""
    if not has_vectors(space):
        return None
    if isinstance(space, spaces.Dict):
        parts = [vectors(obs[key], part) for key, part in space.spaces.items()]
        return np.concatenate([part for part in parts if part is not None], axis=-1)
    lead = obs.shape[:2]
    if isinstance(space, spaces.Discrete):
        chosen = obs.reshape(*lead, 1) == np.arange(space.n)
        return chosen.astype(np.float32)  # type: ignore[no-any-return]
    return obs.reshape(*lead, -1).astype(np.float32, copy=False)  # type: ignore[no-any-return]


def flat_actions(actions: Any, codec: ActionCodec, scaled: bool) -> Floats:
    """`[T, N, A]`; dimensions with bounds in [-1, 1], as our own runs have them."""
    flat: Floats = actions.reshape(*actions.shape[:2], -1).astype(np.float32)
    if scaled or not codec.continuous:
        return flat
    with np.errstate(invalid="ignore"):
        center, half = (codec.env_high + codec.env_low) / 2, (codec.env_high - codec.env_low) / 2
        bounded = np.isfinite(half) & (codec.high == 1.0) & (codec.low == -1.0) & (half > 0)
        return np.where(bounded, (flat - center) / half, flat).astype(np.float32)


def rollout_steps(model: Any, codec: ActionCodec, dones: Any, clocks: list[Ended]) -> Steps:
    """A whole rollout, before its update takes it apart."""
    buffer = model.rollout_buffer
    reward = buffer.rewards.astype(np.float32)
    ended = np.concatenate((buffer.episode_starts[1:], np.asarray(dones)[None])).astype(bool)
    truncated = np.zeros(ended.shape, bool)
    for end in clocks:
        reward[end.t, end.env], truncated[end.t, end.env] = end.reward, True
    return Steps(
        vectors(buffer.observations, model.observation_space),
        flat_actions(buffer.actions, codec, bool(getattr(model.policy, "squash_output", False))),
        reward,
        ended & ~truncated,
        truncated,
        None,
        {},
    )


def newest_steps(model: Any, codec: ActionCodec, rows: int) -> Steps:
    """The newest rows of a replay memory, observations and rewards as learning gets them."""
    buffer, normalizer = model.replay_buffer, model.get_vec_normalize_env()
    at = newest_rows(buffer, rows)
    obs = None
    if has_vectors(model.observation_space):
        obs = taken(buffer.observations, at)
        obs = obs if normalizer is None else normalizer.normalize_obs(obs)
    reward = buffer.rewards[at].astype(np.float32)
    if normalizer is not None:
        reward = normalizer.normalize_reward(reward)
    ended = buffer.dones[at].astype(bool)
    truncated = ended & buffer.timeouts[at].astype(bool)
    return Steps(
        None if obs is None else vectors(obs, model.observation_space),
        flat_actions(buffer.actions[at], codec, scaled=True),
        reward.astype(np.float32),
        ended & ~truncated,
        truncated,
        None,
        {},
    )


def newest_rows(buffer: Any, rows: int) -> npt.NDArray[np.int64]:
    """Places of the newest rows of a ring, oldest first."""
    count = min(rows, int(buffer.size()))
    return (buffer.pos - count + np.arange(count)) % buffer.buffer_size  # type: ignore[no-any-return]


def taken(obs: Any, at: Any) -> Any:
    if isinstance(obs, Mapping):
        return {key: part[at] for key, part in obs.items()}
    return obs[at]


def newest_of(steps: Steps, rows: int) -> Steps:
    count = len(steps.reward)
    return part_of(steps, max(0, count - rows), count)


def part_of(steps: Steps, begin: int, end: int) -> Steps:
    """Some of the rows."""
    obs, *others = (None if x is None else x[begin:end] for x in steps[:5])
    action, reward, terminated, truncated = others
    return Steps(obs, action, reward, terminated, truncated, None, {})


def reward_normalizer(model: Any) -> Any:
    """What changes rewards before they are learned from, or None."""
    normalizer = model.get_vec_normalize_env()
    return normalizer if normalizer is not None and normalizer.norm_reward else None


def raw_metrics(reward: Any) -> dict[str, float]:
    return {
        "train/roll/raw_reward_mean": float(np.mean(reward)),
        "train/roll/raw_reward_std": float(np.std(reward)),
    }


def rollout_metrics(buffer: Any) -> dict[str, float]:
    """Advantages, targets and values of a rollout."""
    return {
        "train/roll/adv_mean": float(buffer.advantages.mean()),
        "train/roll/adv_std": float(buffer.advantages.std()),
        "train/roll/return_mean": float(buffer.returns.mean()),
        "train/roll/return_std": float(buffer.returns.std()),
        "train/roll/value_mean": float(buffer.values.mean()),
    }
