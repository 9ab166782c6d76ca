"""The settings among what SB3 saves in the JSON entry `data` of a model's zip, or the Recorder in
its file: neither the state of the run nor what is left of pickled objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dressage.runs.algorithms import canonical_algorithm
from dressage.runs.readers.sb3_arguments import ARGUMENTS
from dressage.runs.readers.values import scheduled

# `normalize` is the Recorder's: the arguments of VecNormalize.
ARGUMENT = {"normalize", *(name for names in ARGUMENTS.values() for name in names)}
SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")
# Where a run stands, and what concerns its logging alone.
STATE = (
    "num_timesteps", "start_time", "exploration_rate", "verbose", "tensorboard_log", "device",
)  # fmt: skip
UPDATES = "_n_updates"  # tells how often a run trained where `train_freq` is a pickle
_CLASS = re.compile(r"<class '([\w.]+)'>")


def settings_in(data: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the constructor and other plain values, by SB3's names."""
    found: dict[str, Any] = {}
    for name, value in data.items():
        if name in ARGUMENT:
            plain = _argument(name, value)
            if value is None or name == "policy_kwargs" or plain not in (None, {}, []):
                found[name] = plain
        elif isinstance(value, bool | int | float | str) and not _is_state(name):
            found[name] = readable(value)
    if found.get("learning_rate") is None and isinstance(data.get("lr_schedule"), Mapping):
        found["learning_rate"] = scheduled(data["lr_schedule"])  # a function was given
    if data.get("_total_timesteps") is not None:
        found["total_timesteps"] = data["_total_timesteps"]
    if data.get(UPDATES) is not None and "train_freq" in data:
        found[UPDATES] = data[UPDATES]
    if algo := _algorithm(data):
        found["algo"] = algo
    return found


def _argument(name: str, value: Any) -> Any:
    if name in SCHEDULES and isinstance(value, Mapping):
        return scheduled(value)
    if name == "action_noise" and isinstance(value, Mapping):
        return _noise(value)
    return readable(value)


def _is_state(name: str) -> bool:
    return name.startswith("_") or name in STATE


def readable(value: Any) -> Any:
    """What a person can read of a value; None where that is nothing: pickles, functions, objects.
    A class is told by its name."""
    if isinstance(value, Mapping):
        parts = {
            key: readable(item) for key, item in value.items() if not key.startswith((":", "__"))
        }
        return {key: item for key, item in parts.items() if item is not None}
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, str):
        named = _CLASS.sub(r"\1", value)
        return None if " at 0x" in named or named.startswith("<") else named
    return value


def _noise(value: Mapping[str, Any]) -> str | None:
    """`NormalActionNoise(sigma=[0.1 0.1])`"""
    kind = re.search(r"(\w+)(?:'>)?$", str(value.get(":type:", "")))
    if kind is None or value.get("_sigma") is None:
        return None
    return f"{kind[1]}(sigma={value['_sigma']})"[:200]


def _algorithm(data: Mapping[str, Any]) -> str | None:
    """By the module of its policy; PPO and A2C share theirs, and DDPG is TD3 with one critic."""
    policy = data.get("policy_class")
    module = str(policy.get("__module__", "")) if isinstance(policy, Mapping) else ""
    library, _, rest = module.partition(".")
    if library not in ("stable_baselines3", "sb3_contrib"):
        return None
    if module == "stable_baselines3.common.policies" and "cg_max_steps" not in data:  # TRPO's
        return "ppo" if "clip_range" in data else "a2c"
    algo = canonical_algorithm(rest.partition(".")[0])
    kwargs = data.get("policy_kwargs")
    critics = kwargs.get("n_critics") if isinstance(kwargs, Mapping) else None
    plain = critics == 1 and data.get("policy_delay") == 1 and data.get("target_noise_clip") == 0
    return "ddpg" if algo == "td3" and plain else algo
