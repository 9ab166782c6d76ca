"""One environment with random actions, its observations as flat rows of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dressage.diagnosis.probes.subject import Deadline
from dressage.envs.actions import ActionCodec
from dressage.envs.backends import random_actions
from dressage.envs.make import EnvRecipe, time_limit
from dressage.errors import EnvError

Floats = NDArray[np.float64]
MOST_STEPS = 20_000
MOST_EPISODES = 100
FEW_EPISODES = 10  # with which little is known: the time was then too short


def flat(obs: Any) -> Floats:
    """An observation of any space as one row."""
    if isinstance(obs, dict):
        obs = tuple(obs[key] for key in sorted(obs))
    if isinstance(obs, tuple | list) and any(isinstance(x, dict | tuple | np.ndarray) for x in obs):
        return np.concatenate([flat(part) for part in obs]) if obs else np.empty(0)
    try:
        return np.asarray(obs, np.float64).reshape(-1)
    except (TypeError, ValueError):  # text and the like: looked at by nobody here
        return np.empty(0)


def kinds(space: Any) -> list[str]:
    """What each number of `flat` is: `image`, `code` (of a choice) or `number`."""
    if isinstance(space, spaces.Dict):
        return [kind for key in sorted(space.spaces) for kind in kinds(space[key])]
    if isinstance(space, spaces.Tuple):
        return [kind for part in space.spaces for kind in kinds(part)]
    shape = space.shape or ()
    kind = "code"
    if isinstance(space, spaces.Box):
        kind = "image" if space.dtype == np.uint8 and len(shape) >= 2 else "number"
    return [kind] * math.prod(shape)


class Seen(NamedTuple):
    """What one step gave."""

    obs: Any
    reward: float
    terminated: bool
    truncated: bool

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated

    def same(self, other: Seen) -> bool:
        return (
            np.array_equal(flat(self.obs), flat(other.obs), equal_nan=True)
            and self.ends_like(other)
            and self.pays_like(other)
        )

    def ends_like(self, other: Seen) -> bool:
        return (self.terminated, self.truncated) == (other.terminated, other.truncated)

    def pays_like(self, other: Seen) -> bool:
        both_nan = math.isnan(self.reward) and math.isnan(other.reward)
        return self.reward == other.reward or both_nan


class Player:
    def __init__(self, recipe: EnvRecipe) -> None:
        self.env = recipe()
        self.codec = ActionCodec.from_space(self.env.action_space)
        self.limit = time_limit(self.env)
        self.info: Any = {}

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *_: object) -> None:
        self.env.close()

    def reset(self, seed: int) -> Any:
        try:
            obs, self.info = self.env.reset(seed=seed)
        except Exception as error:
            raise _raised("reset", error) from error
        return obs

    def step(self, action: NDArray[np.float32]) -> Seen:
        """One step with a flat action `[A]`; the reward is the environment's own."""
        try:
            obs, reward, terminated, truncated, self.info = self.env.step(self.codec.decode(action))
            own = float(self.info.get("raw_reward", reward))
        except Exception as error:
            raise _raised("step", error) from error
        return Seen(obs, own, bool(terminated), bool(truncated))

    def random_action(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """A flat action `[A]` that the mask allows."""
        action: NDArray[np.float32] = random_actions(self.codec, rng, 1)[0]
        for column, allowed in enumerate(self.allowed()):
            action[column] = allowed[int(action[column]) % len(allowed)]
        return action

    def allowed(self) -> list[NDArray[np.int64]]:
        """The values of each choice that the mask allows now."""
        mask = self.info.get("action_mask") if isinstance(self.info, dict) else None
        if mask is None and self.codec.categories and self.env.has_wrapper_attr("action_masks"):
            mask = self.env.get_wrapper_attr("action_masks")()
        if mask is None:
            return [np.arange(n) for n in self.codec.categories]
        try:
            row = self.codec.mask(mask)
        except EnvError:  # nothing is allowed where an episode has ended
            return [np.arange(n) for n in self.codec.categories]
        ends = np.cumsum(self.codec.categories)
        return [np.flatnonzero(part) for part in np.split(row, ends[:-1])]


def _raised(where: str, error: Exception) -> EnvError:
    if isinstance(error, EnvError):
        return error
    return EnvError(f"The environment raised {type(error).__name__} in {where}(): {error}")


@dataclass
class Features:
    """Running statistics of each number of an observation; not a number counts for itself."""

    count: int = 0
    not_finite: int = 0
    out_of_space: int = 0
    mean: Floats = field(default_factory=lambda: np.empty(0))
    square: Floats = field(default_factory=lambda: np.empty(0))  # sum of squared deviations
    low: Floats = field(default_factory=lambda: np.empty(0))
    high: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, row: Floats) -> None:
        """Welford's update; rows with numbers that are not finite are left out."""
        if not np.isfinite(row).all():
            self.not_finite += 1
            return
        if self.count == 0:
            self.mean, self.square = np.zeros_like(row), np.zeros_like(row)
            self.low, self.high = row.copy(), row.copy()
        elif row.shape != self.mean.shape:  # a space of varying length
            return
        self.count += 1
        change = row - self.mean
        self.mean += change / self.count
        self.square += change * (row - self.mean)
        np.minimum(self.low, row, out=self.low)
        np.maximum(self.high, row, out=self.high)

    @property
    def std(self) -> Floats:
        return np.asarray(np.sqrt(self.square / max(self.count, 1)))


@dataclass
class Played:
    """Random play: whole episodes, and the steps of one that was not finished."""

    features: Features = field(default_factory=Features)
    rewards: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)  # of whole episodes
    lengths: list[int] = field(default_factory=list)
    terminated: list[bool] = field(default_factory=list)
    unfinished: int = 0  # env steps of the episode that was not
    limit: int | None = None  # env steps after which the clock ends an episode
    first: list[Floats] = field(default_factory=list)  # observations after resets
    kinds: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    action_codec: ActionCodec | None = None


def play(recipe: EnvRecipe, deadline: Deadline) -> Played:
    """Episodes with seeds 0, 1, …, as many as the time allows."""
    found, rng = Played(), np.random.default_rng(0)
    with Player(recipe) as player:
        found.limit, found.action_codec = player.limit, player.codec
        space = player.env.observation_space
        found.kinds = np.array(kinds(space), np.str_)
        while len(found.returns) < MOST_EPISODES and len(found.rewards) < MOST_STEPS:
            obs = player.reset(len(found.returns))
            found.first.append(flat(obs))
            _see(found.features, obs, space)
            total, length = 0.0, 0
            while True:
                seen = player.step(player.random_action(rng))
                _see(found.features, seen.obs, space)
                found.rewards.append(seen.reward)
                total, length = total + seen.reward, length + 1
                if seen.over or len(found.rewards) >= MOST_STEPS or deadline.left <= 0.0:
                    break
            if seen.over:
                found.returns.append(total)
                found.lengths.append(length)
                found.terminated.append(seen.terminated)
            else:
                found.unfinished = length
            if deadline.left <= 0.0:
                deadline.reached = len(found.returns) < FEW_EPISODES
                break
    return found


def _see(features: Features, obs: Any, space: Any) -> None:
    features.add(flat(obs))
    if features.count <= 500 and not space.contains(obs):  # costly for large observations
        features.out_of_space += 1
