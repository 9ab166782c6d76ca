"""Trains seeds with Stable-Baselines3, and logs them as its users do.

    PYTHON sb3_program.py JOB.json

It is run as a file of its own by whichever interpreter has SB3, so it imports nothing of dressage.
The job: algo, env, n_envs, env_steps, arguments, normalize, seeds, folder. Each seed gets a folder
`seed-N` with progress.csv, monitors, evaluations and, last of all, model.zip: where that is, the
seed is done.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3 as sb3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.sb2_compat import rmsprop_tf_like as sb2_compat
from stable_baselines3.common.vec_env import VecNormalize


def main(job: dict[str, Any]) -> None:
    import torch

    torch.set_num_threads(1)
    for seed in job["seeds"]:
        folder = Path(job["folder"]) / f"seed-{seed}"
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was cut off
        folder.mkdir(parents=True)
        env = make_vec_env(job["env"], job["n_envs"], seed=seed, monitor_dir=str(folder))
        if job["normalize"]:
            gamma = job["arguments"].get("gamma", 0.99)
            env = VecNormalize(env, gamma=gamma, **job["normalize"])
        arguments = made(job["arguments"], env.action_space.shape)
        policy = "CnnPolicy" if len(env.observation_space.shape or ()) == 3 else "MlpPolicy"
        model = getattr(sb3, job["algo"])(policy, env, seed=seed, device="cpu", **arguments)
        model.set_logger(configure(str(folder), ["csv"]))
        model.learn(job["env_steps"])
        (folder / "config.yml").write_text(json.dumps(job["recorded"] | {"seed": seed}))
        model.save(folder / "unfinished")
        (folder / "unfinished.zip").rename(folder / "model.zip")
        print(f"seed {seed}", flush=True)


def made(arguments: dict[str, Any], action_shape: tuple[int, ...]) -> dict[str, Any]:
    """Plain values into what SB3 takes: schedules, noise, classes."""
    import torch

    given = dict(arguments)
    for name in ("learning_rate", "clip_range", "clip_range_vf"):
        if isinstance(given.get(name), list):
            given[name] = between(given[name])
    noise = given.pop("action_noise", None)
    if noise is not None:
        given["action_noise"] = NormalActionNoise(
            np.zeros(action_shape), np.full(action_shape, float(noise))
        )
    policy = dict(given.pop("policy_kwargs", {}))
    if "activation_fn" in policy:
        policy["activation_fn"] = getattr(torch.nn, policy["activation_fn"])
    if "optimizer_class" in policy:
        name = policy["optimizer_class"]
        policy["optimizer_class"] = getattr(torch.optim, name, None) or getattr(sb2_compat, name)
    return {**given, "policy_kwargs": policy}


def between(points: list[float]) -> Any:
    """A schedule through values at even distances of progress; SB3 counts what remains."""
    places = np.linspace(0.0, 1.0, len(points))
    return lambda remaining: float(np.interp(1.0 - remaining, places, points))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
