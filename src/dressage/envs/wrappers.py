"""Wrappers by name: `frame_stack:4`, `atari`, `time_limit:200`, or `module:Wrapper`.

What they tell the batch (and through it the Collector) in `info`:

- `raw_reward`: the reward before the first of our reward-changing wrappers touched it. Episode
  returns in logs are sums of raw rewards: a clipped Pong return would say nothing.
- `game_over`: with `episodic_life`, whether the game ended and not only a life. The raw return of
  an episode runs until game_over.
- `continued` (in reset's info): this reset went on with the same game instead of starting a new
  one. Restoring replays from the last reset that was not a continuation.

Observation and reward normalisation are not here: their statistics belong to the Collector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import wrappers as gymw

from dressage.envs.atari import ChangedReward, EpisodicLife, FireReset, atari, sign
from dressage.envs.no_velocity import VELOCITIES, MaskVelocity
from dressage.errors import EnvError, did_you_mean

# "name", "name:1,key=value", {"name": ..., key: value}, or a callable from env to env
WrapperSpec = str | Mapping[str, Any] | Callable[[Any], Any]


def layers(env: Any) -> list[Any]:
    """The chain of wrappers from the outermost to the environment itself."""
    chain = [env]
    while isinstance(chain[-1], gym.Wrapper):
        chain.append(chain[-1].env)
    return chain


class DropKeys(gym.ObservationWrapper):  # type: ignore[misc]
    """Leaves keys of a Dict observation out (such as MiniGrid's mission text)."""

    def __init__(self, env: Any, *keys: str) -> None:
        super().__init__(env)
        space = env.observation_space
        known = list(space.spaces) if isinstance(space, gym.spaces.Dict) else []
        for key in keys:
            if key not in known:
                raise EnvError(f"drop: the observation has no key '{key}', it has {known}.")
        self._keys = [key for key in known if key not in keys]
        self.observation_space = gym.spaces.Dict({key: space[key] for key in self._keys})

    def observation(self, observation: Any) -> Any:
        return {key: observation[key] for key in self._keys}


def _time_feature(env: Any) -> Any:
    space = env.observation_space
    flat = isinstance(space, gym.spaces.Box) and len(space.shape) == 1
    try:
        return gymw.TimeAwareObservation(env, flatten=flat, normalize_time=True)
    except (ValueError, TypeError, AssertionError) as error:
        raise EnvError(f"time_feature needs a time limit (time_limit:N): {error}.") from error


def _clip_reward(env: Any, limit: float = 1.0) -> Any:
    return ChangedReward(env, lambda reward: min(max(reward, -limit), limit))


def _minigrid_image(env: Any) -> Any:
    from minigrid.wrappers import ImgObsWrapper

    return ImgObsWrapper(env)


def _resize(env: Any, height: int = 84, width: int | None = None) -> Any:
    return gymw.ResizeObservation(env, (height, width or height))


@dataclass(frozen=True)
class NamedWrapper:
    """An entry of WRAPPERS; `dressage` docs are generated from `usage` and `meaning`."""

    usage: str
    meaning: str
    apply: Callable[..., Any]
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)  # what making the env needs for it


WRAPPERS: dict[str, NamedWrapper] = {
    "frame_stack": NamedWrapper(
        "frame_stack:4",
        "the last n observations together; the first one fills the stack after a reset",
        lambda env, n=4: gymw.FrameStackObservation(env, n),
    ),
    "time_feature": NamedWrapper(
        "time_feature", "adds the elapsed share of the time limit, 0 to 1", _time_feature
    ),
    "time_limit": NamedWrapper(
        "time_limit:200",
        "truncates episodes after n env steps (a shorter limit of the environment stays in force)",
        lambda env, n: gymw.TimeLimit(env, n),
    ),
    "atari": NamedWrapper(
        "atari",
        "no-ops, frame skip 4, 84x84 gray, an episode per life, fire, sign of rewards, stack 4",
        atari,
        {"frameskip": 1},
    ),
    "episodic_life": NamedWrapper("episodic_life", "an episode per life (ALE)", EpisodicLife),
    "fire_reset": NamedWrapper("fire_reset", "presses FIRE after a reset (ALE)", FireReset),
    "clip_reward": NamedWrapper("clip_reward:1", "clips rewards to [-x, x]", _clip_reward),
    "sign_reward": NamedWrapper(
        "sign_reward",
        "rewards become -1, 0 or 1",
        lambda env: ChangedReward(env, sign),
    ),
    "scale_reward": NamedWrapper(
        "scale_reward:0.1",
        "multiplies rewards",
        lambda env, factor: ChangedReward(env, lambda reward: reward * factor),
    ),
    "rescale_action": NamedWrapper(
        "rescale_action:-1,1",
        "actions are given in [low, high] and scaled to the environment's bounds",
        lambda env, low=-1.0, high=1.0: gymw.RescaleAction(env, np.float32(low), np.float32(high)),
    ),
    "sticky_action": NamedWrapper(
        "sticky_action:0.25",
        "repeats the previous action with a probability",
        lambda env, probability=0.25: gymw.StickyAction(env, probability),
    ),
    "max_and_skip": NamedWrapper(
        "max_and_skip:4",
        "repeats an action n times, observes the maximum of the last two frames",
        lambda env, n=4: gymw.MaxAndSkipObservation(env, n),
    ),
    "mask_velocity": NamedWrapper(
        "mask_velocity", f"velocities become zero ({', '.join(VELOCITIES)})", MaskVelocity
    ),
    "flatten": NamedWrapper(
        "flatten", "one vector, also of images", lambda env: gymw.FlattenObservation(env)
    ),
    "grayscale": NamedWrapper(
        "grayscale", "RGB images become gray", lambda env: gymw.GrayscaleObservation(env)
    ),
    "resize": NamedWrapper("resize:84,84", "resizes images to height, width", _resize),
    "drop": NamedWrapper("drop:mission", "leaves keys of a Dict observation out", DropKeys),
    "minigrid_image": NamedWrapper(
        "minigrid_image", "only the view of a MiniGrid observation", _minigrid_image
    ),
}


def _value(text: str) -> Any:
    lower = text.strip().lower()
    if lower in ("true", "false"):
        return lower == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip()


def _parse(spec: WrapperSpec) -> tuple[str, list[Any], dict[str, Any]]:
    """(name, positional, keyword) of a named wrapper; a callable has its own name."""
    if isinstance(spec, str):
        name, colon, rest = spec.partition(":")
        if name not in WRAPPERS:
            return spec, [], {}
        parts = rest.split(",") if colon and rest else []
        keywords = dict(part.split("=", 1) for part in parts if "=" in part)
        positional = [_value(part) for part in parts if "=" not in part]
        return name, positional, {k.strip(): _value(v) for k, v in keywords.items()}
    if isinstance(spec, Mapping):
        if not isinstance(spec.get("name"), str):
            raise EnvError(
                f"The wrapper {dict(spec)} has no name: write {{'name': 'frame_stack'}}."
            )
        return spec["name"], [], {k: v for k, v in spec.items() if k != "name"}
    return getattr(spec, "__name__", repr(spec)), [], {}


def env_kwargs_for(specs: Sequence[WrapperSpec]) -> dict[str, Any]:
    """Keyword arguments for making the environment that the wrappers call for."""
    needed: dict[str, Any] = {}
    for spec in specs:
        name = _parse(spec)[0]
        if name in WRAPPERS and not (callable(spec) and not isinstance(spec, str)):
            needed.update(WRAPPERS[name].env_kwargs)
    return needed


def apply_wrappers(env: Any, specs: Sequence[WrapperSpec], find: Callable[[str], Any]) -> Any:
    """Wrap in the order given, the first innermost. `find` imports `module:Wrapper`."""
    for spec in specs:
        name, positional, keywords = _parse(spec)
        if not isinstance(spec, str | Mapping):
            wrap: Callable[..., Any] = spec
        elif name in WRAPPERS:
            wrap = WRAPPERS[name].apply
        elif name.partition(":")[2].isidentifier():
            wrap = find(name)
        else:
            raise EnvError(
                f"There is no wrapper '{name}'.{did_you_mean(name, list(WRAPPERS))} Known: "
                f"{', '.join(WRAPPERS)}; your own as module:Wrapper."
            )
        try:
            env = wrap(env, *positional, **keywords)
        except EnvError:
            raise
        except Exception as error:
            usage = f" (usage: {WRAPPERS[name].usage})" if name in WRAPPERS else ""
            raise EnvError(
                f"The wrapper '{name}'{usage} failed with {type(error).__name__}: {error}."
            ) from error
        if not isinstance(env, gym.Env):
            raise EnvError(
                f"The wrapper '{name}' gave a {type(env).__name__}, expected a gymnasium.Env."
            )
    return env
