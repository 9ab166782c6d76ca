"""What a model was made with, as plain JSON beside its log: a diagnosis then needs no zip."""

from __future__ import annotations

import inspect
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm

from dressage.envs.actions import ActionCodec
from dressage.runs.files import write_json
from dressage.runs.readers.sb3 import RECORDED

LEFT_OUT = ("self", "policy", "env", "verbose", "tensorboard_log", "device", "kwargs")
SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")
PACKAGES = ("stable_baselines3", "sb3_contrib", "torch", "numpy", "gymnasium", "dressage")
GRID = 100  # parts of a run at which a schedule is looked up
FORMAT = 1


def write_settings(model: Any, env: str | None, codec: ActionCodec) -> None:
    """Where the logger has a folder."""
    folder = model.logger.get_dir()
    if folder and Path(folder).is_dir():
        write_json(Path(folder) / RECORDED, described(model, env, codec), durable=False)


def described(model: Any, env: str | None, codec: ActionCodec) -> dict[str, Any]:
    spec, wrappers = surroundings(model.get_env())
    settings = {name: setting(name, getattr(model, name)) for name in constructor_names(model)}
    normalizer = model.get_vec_normalize_env()
    if normalizer is not None:
        words = ("norm_obs", "norm_reward", "clip_obs", "clip_reward", "gamma")
        settings["normalize"] = {word: getattr(normalizer, word, None) for word in words}
    settings |= {
        "algo": type(model).__name__,
        "env": env or getattr(spec, "id", None),
        "n_envs": model.n_envs,
        "total_timesteps": getattr(model, "_total_timesteps", None),
    }
    own_scale = hasattr(model, "replay_buffer") or getattr(model.policy, "squash_output", False)
    return {
        "format": FORMAT,
        "settings": {name: value for name, value in settings.items() if value is not None},
        "spaces": {
            "observation_space": str(model.observation_space)[:500],
            "action_space": str(model.action_space)[:500],
            "action": {
                "scale": bool(own_scale),
                "leaves": [_limits(leaf) for leaf in codec.leaves],
            },
            "time_limit": getattr(spec, "max_episode_steps", None),
        },
        "policy": type(model.policy).__name__,
        "wrappers": wrappers,
        "versions": {"python": platform.python_version()} | _versions(),
    }


def _limits(leaf: Any) -> dict[str, Any]:
    return {"categories": leaf.categories, "low": leaf.low, "high": leaf.high}


def constructor_names(model: Any) -> list[str]:
    """Parameters of the model's constructor and of those it is derived from that it keeps."""
    names: dict[str, None] = {}
    for kind in type(model).__mro__:
        if kind is BaseAlgorithm or kind is object:
            break
        names |= dict.fromkeys(inspect.signature(kind).parameters)
    return [
        name
        for name in [*names, "seed"]
        if name not in LEFT_OUT and not name.startswith("_") and hasattr(model, name)
    ]


def setting(name: str, value: Any) -> Any:
    """A plain value; of objects what can be said of them."""
    if name in SCHEDULES and callable(value):
        return schedule(value)
    if name == "train_freq":
        return _every(value)
    if name == "action_noise" and value is not None:
        noise = getattr(value, "base_noise", value)
        return {":type:": type(noise).__name__, "_sigma": _plain(getattr(noise, "_sigma", None))}
    return _plain(value)


def schedule(function: Any) -> Any:
    """A number, or `{start, end, to}`: linear up to a share of the run, then constant."""
    try:
        values = np.array([float(function(1.0 - i / GRID)) for i in range(GRID + 1)])
    except Exception:  # a function of the user's own
        return str(function)[:200]
    if (values == values[0]).all():
        return values[0]
    last = int(np.argmax(np.isclose(values, values[-1], rtol=1e-6, atol=0.0)))
    x = np.arange(GRID + 1) / GRID
    for until in (x[last], (values[0] - values[-1]) / (values[0] - values[1]) / GRID):
        line = values[0] + (values[-1] - values[0]) * np.minimum(x / until, 1.0)
        if 0 < until <= 1 and np.allclose(line, values, rtol=1e-4, atol=1e-4 * values.max()):
            return {"start": values[0], "end": values[-1], "to": until, "schedule": "linear"}
    return {"start": values[0], "end": values[-1], "schedule": "other", "values": values[::10]}


def _every(value: Any) -> Any:
    """SB3's train_freq: steps, or (episodes, "episode")."""
    frequency, unit = getattr(value, "frequency", value), getattr(value, "unit", None)
    unit = getattr(unit, "value", "step")
    return frequency if unit == "step" else [frequency, unit]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str, np.generic, np.ndarray)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return str(value)[:200]


def surroundings(env: Any) -> tuple[Any, list[str]]:
    """The first environment's spec where it runs in this process, and the classes of all that is
    around it, outermost first. Workers are not asked: what cannot be pickled would end them."""
    names = []
    while hasattr(env, "venv"):
        names.append(type(env).__name__)
        env = env.venv
    names.append(type(env).__name__)
    inner = (getattr(env, "envs", None) or [None])[0]
    spec = getattr(inner, "spec", None)
    while inner is not None:
        names.append(type(inner).__name__)
        inner = getattr(inner, "env", None)
    return spec, names


def _versions() -> dict[str, str]:
    """Of what is in use."""
    return {
        name: str(sys.modules[name].__version__)
        for name in PACKAGES
        if hasattr(sys.modules.get(name), "__version__")
    }
