"""Runs of Stable-Baselines3 again: its own training from the settings that a run recorded.

A model's zip names most settings in plain values; what it hides in pickles (schedules given as
functions, how often it trains) is taken from the log: the rate as it really ran, and the number of
updates beside that of steps. Settings are kept in our words and put into SB3's at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import ConfigError, RunError
from dressage.math.schedules import Schedule, parse_schedule
from dressage.runs.files import writing
from dressage.runs.readers import read
from dressage.runs.readers.sb3 import EPSILON
from dressage.runs.readers.sb3 import LIBRARY as LIBRARY
from dressage.runs.readers.sb3_arguments import (
    ACTIVATIONS,
    CLASSES,
    CONTRIB,
    OF_OPTIMIZER,
    OF_POLICY,
    OPTIMIZER_LACKS,
    OPTIMIZERS,
    POLICY_ARGUMENTS,
)
from dressage.runs.readers.sb3_zip import UPDATES
from dressage.runs.readers.values import plain_value, schedule_text
from dressage.runs.view import RunView

ALGORITHMS = {algo: name for algo, name in CLASSES.items() if algo not in CONTRIB}
PROGRAM = Path(__file__).with_name("sb3_program.py")
PYTHON = "DRESSAGE_SB3_PYTHON"  # an interpreter that has SB3, where ours has not
AT_ONCE = 2  # processes, each with one thread
SCHEDULED = ("learning_rate", "clip_range", "clip_range_vf")
POINTS = 65  # of a schedule
SHARED = ("gamma", "learning_rate")
SDE = ("use_sde", "sde_sample_freq")
ON_POLICY = (
    *SHARED, *SDE, "n_steps", "gae_lambda", "ent_coef", "vf_coef", "max_grad_norm",
    "normalize_advantage",
)  # fmt: skip
OFF_POLICY = (
    *SHARED, "buffer_size", "learning_starts", "batch_size", "tau", "train_freq", "gradient_steps",
)  # fmt: skip
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "ppo": (*ON_POLICY, "batch_size", "n_epochs", "clip_range", "clip_range_vf", "target_kl"),
    "a2c": ON_POLICY,
    "dqn": (*OFF_POLICY, "target_update_interval", "max_grad_norm"),
    "sac": (*OFF_POLICY, *SDE, "ent_coef", "target_entropy"),
    "td3": (*OFF_POLICY, "policy_delay", "target_policy_noise", "target_noise_clip"),
    "ddpg": OFF_POLICY,
}
BESIDE = ("n_envs", "env_steps", "normalize_obs", "normalize_reward")  # of all
# Settings that have another name or another place in SB3, by algorithm.
SPECIAL: dict[str, tuple[str, ...]] = {
    "ppo": (), "a2c": (), "dqn": ("epsilon", "n_step"), "sac": ("noise_std", "n_step"),
    "td3": ("noise_std", "n_step"), "ddpg": ("noise_std", "n_step"),
}  # fmt: skip
NOISE = 0.1  # of actions, where only the kind is given


def known_settings(algo: str) -> set[str]:
    """What an algorithm of SB3 can be given, in our words."""
    policy = {ours for ours, theirs in OF_POLICY.items() if theirs in POLICY_ARGUMENTS[algo]}
    return {*ARGUMENTS[algo], *SPECIAL[algo], *policy, *OF_OPTIMIZER, *BESIDE}


def made_by_id(view: RunView) -> str:
    """What is said before a run of SB3 is trained again."""
    return (
        f"The environment is made by its id, {view.env}: wrappers of your own are no part of what "
        "is trained here."
    )


def settings_of(view: RunView) -> dict[str, Any]:
    """All settings that SB3 can be given again, in our words."""
    if view.library != LIBRARY or view.algo not in ALGORITHMS:
        raise ConfigError(
            f"{view.id} is a run of {view.library}'s {view.algo or 'unknown algorithm'}: SB3 can "
            f"train {', '.join(ALGORITHMS.values())} again."
        )
    if not view.env:
        raise ConfigError(
            f"{view.id} does not say its environment: SB3's Monitor writes it into monitor.csv "
            "(make_vec_env with monitor_dir), and RL-Zoo into args.yml."
        )
    known = known_settings(view.algo)
    found = {name: value for name, value in view.config.items() if name in known}
    found.setdefault("env_steps", int(view.env_steps))
    found.setdefault("n_envs", 1)
    if rate := _rate_as_it_ran(view):
        found.setdefault("learning_rate", rate)
    if view.algo not in ("ppo", "a2c"):
        found.setdefault("train_freq", _train_freq(view, found))
    if "learning_rate" not in found:
        raise ConfigError(
            f"{view.id} says nothing of its learning rate, in its model or in its log: give its "
            "config with --config FILE."
        )
    return found


def _rate_as_it_ran(view: RunView) -> str | float | None:
    """A schedule through what the log says of the rate: constant, or straight to its end."""
    series = view["train/hp/lr"]
    if not series or not len(series.values):
        return None
    values = series.values[np.isfinite(series.values)]
    first, last = float(values[0]), float(values[-1])
    if abs(first - last) <= 0.01 * abs(first):
        return first
    budget = float(view.config.get("env_steps") or view.env_steps)
    # a row holds the update before the rollout that it closes
    late = float(view.config.get("n_steps") or 0) * float(view.config.get("n_envs") or 1)
    known = np.isfinite(series.values)
    progress = (series.env_steps[known] - late) / budget
    slope, start = np.polyfit(progress, series.values[known], 1)
    end = max(float(start + slope), 0.0)
    end = 0.0 if end < 0.02 * start else end
    return str(Schedule("linear", float(f"{start:.3g}"), float(f"{end:.3g}")))


def _train_freq(view: RunView, settings: Mapping[str, Any]) -> int:
    """Steps of an environment between trainings, by the updates that model or log count."""
    steps = float(settings.get("gradient_steps") or 1)
    made = plain_value(view.own_config.get(UPDATES))
    taken = view.env_steps - float(settings.get("learning_starts") or 0)
    updates = view["updates"]
    if not isinstance(made, int | float) and updates and len(updates.values) > 1:
        made = float(updates.values[-1] - updates.values[0])
        taken = float(updates.env_steps[-1] - updates.env_steps[0])
    if not isinstance(made, int | float) or made <= 0 or taken <= 0 or steps <= 0:
        return {"dqn": 4}.get(str(view.algo), 1)  # SB3's defaults
    return max(1, round(steps * taken / float(made) / float(settings.get("n_envs") or 1)))


def checked(view: RunView, settings: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A patch in SB3's words or in ours, in ours; an error where SB3 does not know a name."""
    algo = str(view.algo)
    ours = {theirs: name for name, theirs in view.own_settings.items() if name != "epsilon"}
    known = known_settings(algo) - {"env_steps"}
    clean: dict[str, Any] = {}
    for given, value in _joined(view, settings, patch).items():
        name = given if given in known else ours.get(given, given)
        if name not in known:
            raise ConfigError(
                f"'{given}' is no setting that SB3's {ALGORITHMS[algo]} can be trained with "
                f"again; it has {', '.join(sorted(known))}."
            )
        if settings.get(name) != value:
            clean[name] = value
    if not clean:
        raise ConfigError(f"The patch {dict(patch)} changes nothing: the run has these settings.")
    job_of(view, {**settings, **clean})  # says what cannot be
    return clean


def _joined(view: RunView, settings: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The patch, with SB3's three settings of epsilon as our one, and a kind of noise as its
    deviation."""
    given, algo = dict(patch), str(view.algo)
    if algo == "dqn" and given.keys() & set(EPSILON):
        now = _epsilon(settings.get("epsilon", "linear(1, 0.05, until=0.1)"))
        now |= {name: view.own_config[name] for name in EPSILON if name in view.own_config} | given
        first, last, until = (now[name] for name in EPSILON)
        given = {name: value for name, value in given.items() if name not in EPSILON}
        given["epsilon"] = schedule_text("linear", first, last, until=until)
    if "noise_std" in SPECIAL[algo] and "action_noise" in given:
        kind = given.pop("action_noise")
        if kind not in ("normal", "none", None):
            raise ConfigError(f"action_noise={kind}: SB3 is given 'normal' with a noise_std here.")
        given.setdefault("noise_std", NOISE if kind == "normal" else 0.0)
    return given


def job_of(view: RunView, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the program is told, all but seeds and folder."""
    algo = str(view.algo)
    arguments: dict[str, Any] = {}
    for name in ARGUMENTS[algo]:
        if name in settings and settings[name] is not None:
            arguments[name] = settings[name]
    for name in SCHEDULED:
        if name in arguments:
            arguments[name] = points(arguments[name])
    if isinstance(arguments.get("normalize_advantage"), str):
        arguments["normalize_advantage"] = arguments["normalize_advantage"] != "off"
    if algo == "dqn" and "epsilon" in settings:
        arguments |= _epsilon(settings["epsilon"])
    if "noise_std" in SPECIAL[algo] and settings.get("noise_std"):
        arguments["action_noise"] = settings["noise_std"]
    if "n_step" in SPECIAL[algo] and settings.get("n_step", 1) != 1:  # SB3 has it since 2.7
        arguments["n_steps"] = settings["n_step"]
    if policy := _policy(algo, settings):
        arguments["policy_kwargs"] = policy
    normalize = {
        f"norm_{what}": bool(settings.get(f"normalize_{what}", False)) for what in ("obs", "reward")
    }
    return {
        "algo": ALGORITHMS[algo],
        "env": view.env,
        "n_envs": int(settings["n_envs"]),
        "env_steps": int(settings["env_steps"]),
        "arguments": arguments,
        "normalize": normalize if any(normalize.values()) else None,
        # what the zip would hide from the reader of these runs
        "recorded": {
            "algo": algo,
            "env": view.env,
            "learning_rate": settings["learning_rate"],
            "n_envs": int(settings["n_envs"]),
            "n_timesteps": int(settings["env_steps"]),
            **({"train_freq": settings["train_freq"]} if "train_freq" in settings else {}),
            **({"normalize": json.dumps(normalize)} if any(normalize.values()) else {}),
        },
    }


def as_config(view: RunView, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for a person, in SB3's words as RL-Zoo writes them; schedules in ours."""
    job = job_of(view, settings)
    texts = {name: settings[name] for name in job["arguments"] if name in SCHEDULED}
    return {
        "algo": job["algo"].lower(),
        "env": job["env"],
        "n_envs": job["n_envs"],
        "n_timesteps": job["env_steps"],
        **job["arguments"],
        **texts,
        **({"normalize": job["normalize"]} if job["normalize"] else {}),
    }


def points(value: Any) -> float | list[float]:
    """A number, or a schedule as values at even distances of progress."""
    if isinstance(value, int | float):
        return float(value)
    schedule = parse_schedule(value)
    if isinstance(schedule, float):
        return schedule
    return [float(schedule(place / (POINTS - 1))) for place in range(POINTS)]


def _epsilon(value: Any) -> dict[str, float]:
    schedule = parse_schedule(value)
    if isinstance(schedule, float):
        schedule = Schedule("linear", schedule, schedule)
    if schedule.kind != "linear" or schedule.end is None:
        raise ConfigError(f"epsilon={value}: SB3's DQN knows only a linear course of epsilon.")
    return {
        "exploration_initial_eps": schedule.start,
        "exploration_final_eps": schedule.end,
        "exploration_fraction": max(schedule.until, 1e-6),
    }


def _policy(algo: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    tables = {"activation": ACTIVATIONS, "optimizer": OPTIMIZERS}
    found: dict[str, Any] = {}
    for name, theirs in OF_POLICY.items():
        value = settings.get(name)
        if value is None:
            continue
        if name in tables and value not in tables[name]:
            raise ConfigError(f"{name}={value}: SB3 is given one of {', '.join(tables[name])}.")
        found[theirs] = tables[name][value] if name in tables else value
    if isinstance(arch := found.get("net_arch"), Mapping):  # the policy's and the value's apart
        parts = {"policy": "pi", "value": "vf" if algo in ("ppo", "a2c") else "qf"}
        found["net_arch"] = {parts.get(part, part): widths for part, widths in arch.items()}
    lacks = OPTIMIZER_LACKS.get(str(settings.get("optimizer", "adam")), ())
    kwargs = {
        theirs: settings[name]
        for name, theirs in OF_OPTIMIZER.items()
        if settings.get(name) is not None and theirs not in lacks
    }
    return found | ({"optimizer_kwargs": kwargs} if kwargs else {})


def seeds_of(
    folder: Path, settings: Mapping[str, Any], view: RunView, seeds: range
) -> list[RunView]:
    """Views of these seeds, in their order; those that are not there yet are trained by SB3."""
    missing = [seed for seed in seeds if not (folder / f"seed-{seed}" / "model.zip").exists()]
    if missing:
        _train(folder, job_of(view, settings), missing)
    found = [read(folder / f"seed-{seed}")[0] for seed in seeds]
    for one, seed in zip(found, seeds, strict=True):
        one.seed = seed
    return found


def _train(folder: Path, job: Mapping[str, Any], seeds: list[int]) -> None:
    python = os.environ.get(PYTHON) or sys.executable
    check = subprocess.run([python, "-c", "import stable_baselines3"], capture_output=True)
    if check.returncode:
        raise ConfigError(
            "To train a run of SB3 again, SB3 must be there: `pip install 'dressage[sb3]'`, or "
            f"name an interpreter that has it in the environment variable {PYTHON}."
        )
    folder = folder.resolve()  # the other process works in it
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    started = []
    try:
        for place in range(min(AT_ONCE, len(seeds))):
            own = {**job, "seeds": seeds[place::AT_ONCE], "folder": str(folder)}
            path = folder / f"job-{place}.json"
            with writing(path):
                path.write_text(json.dumps(own))
            log = (folder / f"job-{place}.log").open("w")
            command = [python, str(PROGRAM), str(path)]
            with log:
                started.append(
                    subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
                )
        for place, process in enumerate(started):
            if process.wait():
                said = (folder / f"job-{place}.log").read_text(errors="replace").strip()
                last = said.splitlines()[-1] if said else "it said nothing"
                raise RunError(f"SB3 could not train these seeds: {last}")
    finally:
        for process in started:
            if process.poll() is None:
                process.terminate()
                process.wait()
