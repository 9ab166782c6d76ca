"""The same with Stable-Baselines3: its users' faults, in its users' logs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults import store
from benchmarks.faults.tasks import PointMass

from dressage.runs.readers import read
from dressage.runs.readers.sb3 import RECORDED
from dressage.runs.view import RunView

WORK = Path("build/faults-sb3")
BATCH = 10  # jobs of a process, which takes a while to start
POINT_MASS = f"{PointMass.__module__}:{PointMass.__name__}"
NET = {"policy_kwargs": {"net_arch": [64, 64]}}
CLEAN_SEEDS, FAULT_SEEDS = 5, 2


@dataclass(frozen=True)
class Sb3Setting:
    name: str
    split: str
    algo: str
    env: str
    env_steps: int
    hyper: dict[str, Any]
    n_envs: int = 1
    env_kwargs: dict[str, Any] = field(default_factory=dict)


OFF = {"batch_size": 64, "learning_starts": 300, "buffer_size": 50_000, **NET}
SETTINGS = {
    one.name: one
    for one in (
        Sb3Setting(
            "sb3-cartpole-ppo", "train", "PPO", "CartPole-v1", 24_576,
            {"n_steps": 64, "batch_size": 64, "n_epochs": 8, "gamma": 0.98, "gae_lambda": 0.9,
             "learning_rate": [1e-3, 0.0]}, 4,
        ),
        Sb3Setting(
            "sb3-cartpole-a2c", "train", "A2C", "CartPole-v1", 60_000,
            {"n_steps": 16, "gae_lambda": 0.95, "learning_rate": [2e-3, 0.0]}, 8,
        ),
        Sb3Setting(
            "sb3-cartpole-dqn", "train", "DQN", "CartPole-v1", 20_000,
            {**OFF, "learning_rate": 5e-4, "gamma": 0.98, "train_freq": 4, "gradient_steps": 2,
             "target_update_interval": 250, "exploration_fraction": 0.2,
             "exploration_final_eps": 0.05},
        ),
        Sb3Setting(
            "sb3-pendulum-sac", "train", "SAC", "Pendulum-v1", 4_500,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95},
        ),
        Sb3Setting(
            "sb3-pendulum-ddpg", "train", "DDPG", "Pendulum-v1", 5_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95, "noise": 0.2},
        ),
        Sb3Setting(
            "sb3-pointmass-ppo", "test", "PPO", POINT_MASS, 24_576,
            {"n_steps": 128, "batch_size": 64, "n_epochs": 8, "gamma": 0.95,
             "learning_rate": [1e-3, 0.0]}, 4,
        ),
        Sb3Setting(
            "sb3-pointmass-a2c", "test", "A2C", POINT_MASS, 50_000,
            {"n_steps": 20, "gamma": 0.95, "gae_lambda": 0.95, "learning_rate": [2e-3, 0.0],
             "policy_kwargs": {"log_std_init": -0.5}}, 8,
        ),
        Sb3Setting(
            "sb3-pointmass-dqn", "test", "DQN", POINT_MASS, 12_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95, "train_freq": 4, "gradient_steps": 2,
             "target_update_interval": 200, "exploration_fraction": 0.3,
             "exploration_final_eps": 0.05},
            env_kwargs={"action": "discrete"},
        ),
        Sb3Setting(
            "sb3-pointmass-sac", "test", "SAC", POINT_MASS, 4_500,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95, "train_freq": 2},
        ),
        Sb3Setting(
            "sb3-pointmass-td3", "test", "TD3", POINT_MASS, 5_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95, "train_freq": 2, "noise": 0.2},
        ),
    )
}  # fmt: skip

ON_POLICY = ("sb3-cartpole-ppo", "sb3-pointmass-ppo")
A2C = ("sb3-cartpole-a2c", "sb3-pointmass-a2c")
VALUES = ("sb3-cartpole-dqn", "sb3-pointmass-dqn")
SAC = ("sb3-pendulum-sac", "sb3-pointmass-sac")
NOISY = ("sb3-pendulum-ddpg", "sb3-pointmass-td3")
ALL = (*ON_POLICY, *VALUES, *SAC)


@dataclass(frozen=True)
class Sb3Fault:
    name: str
    cause: str
    settings: tuple[str, ...]
    hyper: dict[str, Any] = field(default_factory=dict)
    wrappers: tuple[tuple[str, dict[str, Any]], ...] = ()
    code: tuple[tuple[str, dict[str, Any]], ...] = ()
    job: dict[str, Any] = field(default_factory=dict)  # other parts of the job


def settings(cause: str, where: tuple[str, ...], **hyper: Any) -> Sb3Fault:
    return Sb3Fault(_name(cause, where), cause, where, hyper)


def wrapped(cause: str, where: tuple[str, ...], wrapper: str, **kwargs: Any) -> Sb3Fault:
    return Sb3Fault(_name(cause, where), cause, where, wrappers=((wrapper, kwargs),))


def unlogged(cause: str, where: tuple[str, ...], wrapper: str, **kwargs: Any) -> Sb3Fault:
    """Outside of the monitor: what is logged is what the environment paid."""
    made = wrapped(cause, where, wrapper, **kwargs)
    return replace(made, name=f"{cause}.unlogged-{made.name.split('.')[1]}", job={"unlogged": True})


def coded(cause: str, where: tuple[str, ...], patch: str, **kwargs: Any) -> Sb3Fault:
    return Sb3Fault(_name(cause, where), cause, where, code=((patch, kwargs),))


def _name(cause: str, where: tuple[str, ...]) -> str:
    return f"{cause}.{SETTINGS[where[0]].algo.lower()}"


FAULTS = {
    one.name: one
    for one in (
        settings("lr-too-high", ON_POLICY, learning_rate=0.05),
        settings("lr-too-high", A2C, learning_rate=0.1),
        settings("lr-too-high", VALUES, learning_rate=0.05),
        settings("lr-too-high", SAC, learning_rate=0.05),
        settings("lr-too-low", ON_POLICY, learning_rate=1e-6),
        settings("lr-too-low", VALUES, learning_rate=1e-7),
        settings("lr-too-low", SAC, learning_rate=1e-6),
        settings("lr-schedule-ends-early", ON_POLICY, learning_rate=[1e-3, 0.0, 0.1]),
        Sb3Fault(
            "schedule-restarts.ppo", "schedule-restarts", ON_POLICY,
            {"learning_rate": [3e-3, 0.0]}, job={"parts": 6},
        ),
        settings("too-many-epochs", ON_POLICY, n_epochs=60, batch_size=32, learning_rate=1e-3),
        settings("clip-range-too-tight", ON_POLICY, clip_range=1e-3),
        settings("clip-range-too-wide", ON_POLICY, clip_range=5.0, n_epochs=30, learning_rate=3e-3),
        settings("rollout-too-short", ON_POLICY, n_steps=2, batch_size=8),
        settings("rollout-too-long", ON_POLICY, n_steps=2048, batch_size=2048),
        settings("entropy-bonus-too-high", ON_POLICY, ent_coef=1.0),
        settings("entropy-bonus-too-high", A2C, ent_coef=1.0),
        settings("gamma-too-low", ON_POLICY, gamma=0.2),
        settings("gamma-too-low", VALUES, gamma=0.1),
        settings("critic-too-weak", ON_POLICY, vf_coef=0.0),
        settings("target-kl-too-tight", ON_POLICY, target_kl=1e-6),
        settings("learning-never-starts", VALUES, learning_starts=50_000),
        settings("learning-never-starts", SAC, learning_starts=50_000),
        settings("buffer-too-small", VALUES, buffer_size=64, learning_starts=64),
        settings("buffer-too-small", SAC, buffer_size=64, learning_starts=64),
        settings("final-epsilon-too-high", VALUES, exploration_final_eps=0.7),
        settings("no-exploration", VALUES, exploration_initial_eps=0.0, exploration_final_eps=0.0,
                 learning_starts=16),
        settings("target-updates-too-rarely", VALUES, target_update_interval=40_000),
        settings("updates-too-few", VALUES, train_freq=256, gradient_steps=1),
        settings("updates-too-few", SAC, train_freq=128, gradient_steps=1),
        settings("batch-too-small", SAC, batch_size=1),
        settings("action-noise-too-large", NOISY, noise=2.0),
        settings("no-action-noise", NOISY, noise=None, learning_starts=8),
        settings("sac-alpha-too-high", SAC, ent_coef=20.0),
        settings("sac-alpha-explodes", SAC, target_entropy=10.0),
        settings("target-tau-extreme", SAC, tau=1e-5),
        settings("optimizer-choice", ON_POLICY, policy_kwargs={"optimizer_class": "SGD"}),
        settings("optimizer-eps", ON_POLICY, policy_kwargs={"optimizer_kwargs": {"eps": 30.0}}),
        settings("weight-decay-too-strong", ON_POLICY,
                 policy_kwargs={"optimizer_kwargs": {"weight_decay": 3.0}}),
        settings("network-too-small", ON_POLICY, policy_kwargs={"net_arch": [1]}),
        wrapped("reward-sign-flipped", ALL, "rewards:FlippedAtTimes", share=1.0),
        wrapped("reward-scale-too-large", VALUES, "rewards:Scaled", factor=1e4),
        wrapped("reward-scale-too-large", SAC, "rewards:Scaled", factor=1e3),
        wrapped("reward-uninformative", ON_POLICY, "rewards:Uninformative"),
        wrapped("reward-scale-too-large", ON_POLICY, "rewards:Scaled", factor=1e3),
        *(
            unlogged("reward-sign-flipped", where, "rewards:FlippedAtTimes", share=1.0)
            for where in (ON_POLICY, VALUES, SAC)
        ),
        *(
            unlogged("reward-scale-too-large", where, "rewards:Scaled", factor=1e3)
            for where in (ON_POLICY, VALUES, SAC)
        ),
        unlogged("reward-uninformative", ON_POLICY, "rewards:Uninformative"),
        wrapped("obs-constant", ALL, "observations:Constant"),
        wrapped("obs-unnormalised", SAC, "observations:Enlarged", factor=1e3),
        wrapped("obs-stale", ON_POLICY, "observations:Stale", steps=12),
        wrapped("partial-observability", ON_POLICY, "observations:Without", entries=[1, 2, 3]),
        wrapped("action-ignored", ALL, "actions:Ignored", share=1.0),
        wrapped("action-delay", ON_POLICY, "actions:Delayed", steps=10),
        wrapped("env-not-reset", ON_POLICY, "episodes:NeverReset", limit=800, left=1),
        wrapped("truncation-as-termination", SAC, "episodes:ClockAsEnd", limit=6),
        coded("policy-loss-sign", ON_POLICY, "AdvantageNegated"),
        coded("policy-loss-sign", A2C, "AdvantageNegated"),
        coded("returns-misaligned", ON_POLICY, "ReturnsReversed"),
        coded("dead-policy-gradient", ON_POLICY, "ActorFrozen"),
        coded("terminal-not-stored", VALUES, "AddedOtherwise", what="terminals"),
        coded("replay-corrupted", VALUES, "AddedOtherwise", what="successors"),
        coded("replay-corrupted", SAC, "AddedOtherwise", what="successors"),
        coded("obs-stale", VALUES, "AddedOtherwise", what="stale"),
        coded("optimizer-state-corrupted", ON_POLICY, "MomentsDamaged", at=22_000),
        Sb3Fault(
            "loaded-model-ignored.ppo", "loaded-model-ignored", ON_POLICY,
            job={"parts": 5, "reload": True},
        ),
        Sb3Fault(
            "normaliser-mismatch.ppo", "normaliser-mismatch", ON_POLICY,
            job={"normalize": {"norm_reward": False}, "eval": {"normalize": {
                "norm_obs": False, "norm_reward": False}, "wrappers": [
                    ["observations:Enlarged", {"factor": 8.0}]]}},
        ),
    )
}  # fmt: skip


def jobs(recorded: bool = False) -> Iterator[dict[str, Any]]:
    """A seed of everything at a time. `recorded`: the same runs with what `dressage.sb3.Recorder`
    adds to their logs."""
    for seed in range(max(CLEAN_SEEDS, FAULT_SEEDS)):
        for setting in SETTINGS.values():
            if seed < CLEAN_SEEDS:
                yield _job(setting, None, seed, recorded)
        for fault in FAULTS.values():
            for name in fault.settings if seed < FAULT_SEEDS else ():
                yield _job(SETTINGS[name], fault, seed, recorded)


def _job(setting: Sb3Setting, fault: Sb3Fault | None, seed: int, recorded: bool) -> dict[str, Any]:
    hyper = {**setting.hyper, **(fault.hyper if fault else {})}
    if fault and "policy_kwargs" in fault.hyper:
        hyper["policy_kwargs"] = (
            setting.hyper.get("policy_kwargs", {}) | fault.hyper["policy_kwargs"]
        )
    variant = fault.name if fault else "clean"
    described = {
        "algo": setting.algo,
        "env": setting.env,
        "env_kwargs": setting.env_kwargs,
        "env_steps": setting.env_steps,
        "n_envs": setting.n_envs,
        "hyper": {key: value for key, value in hyper.items() if value is not None},
        "wrappers": [list(one) for one in fault.wrappers] if fault else [],
        "code": [list(one) for one in fault.code] if fault else [],
        "log_interval": 20 if setting.algo == "A2C" else 1,
        **(fault.job if fault else {}),
        **({"recorded": True} if recorded else {}),
    }
    text = json.dumps(described, sort_keys=True).encode()
    label = {
        "key": f"{setting.name}/{variant}/{2 if fault else 0}/{seed}",
        "setting": setting.name,
        "split": setting.split,
        "variant": variant,
        "kind": "fault" if fault else "clean",
        "cause": fault.cause if fault else None,
        "severity": 2 if fault else 0,
        "seed": seed,
        "library": "sb3",
        "fingerprint": hashlib.sha256(text).hexdigest()[:12],
    }
    folder = WORK / label["key"].replace("/", "~")
    return described | {"seed": seed, "folder": str(folder), "label": label}


def generate(
    minutes: float,
    only: Sequence[str] = ("",),
    folder: Path = store.FOLDER,
    recorded: bool = False,
) -> int:
    """Batches of jobs that are not there yet, each batch a process; one shard at the end. `only`:
    keys with one of these words."""
    from benchmarks.faults.generate import fingerprints, gather

    done = fingerprints(folder)
    left = [
        job
        for job in jobs(recorded)
        if done.get(key := job["label"]["key"]) != job["label"]["fingerprint"]
        and any(word in key for word in only)
    ]
    began, made = time.monotonic(), 0
    while left and time.monotonic() - began < 60 * minutes:
        batch, left = left[:BATCH], left[BATCH:]
        run_batch(batch)
        for job in batch:
            name = job["label"]["key"].replace("/", "~")
            store.write(WORK / "pending" / f"{name}.zip", [stored(job)])
            shutil.rmtree(job["folder"], ignore_errors=True)
            Path(job["folder"] + ".outcome.json").unlink(missing_ok=True)
        made += len(batch)
        print(f"{made} runs of SB3 in {time.monotonic() - began:.0f} s", flush=True)
    gather(folder, WORK / "pending")
    return made


def run_batch(batch: Sequence[dict[str, Any]]) -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    file = WORK / "jobs.json"
    file.write_text(json.dumps(list(batch)))
    path = os.pathsep.join([".", *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "benchmarks.faults.sb3_worker", str(file)]
    subprocess.run(command, env=environment, check=True)


def _without_settings(folder: Path) -> dict[str, Any]:
    """Settings and spaces as they are known without the Recorder's file."""
    beside, aside = folder / RECORDED, folder / "aside"
    if not beside.exists():
        return {}
    beside.rename(aside)
    try:
        view = read(folder)[-1]
        return {"own_config": view.own_config, "spec": view.spec}
    finally:
        aside.rename(beside)


def stored(job: dict[str, Any]) -> store.Stored:
    folder = Path(job["folder"])
    outcome = json.loads(Path(f"{folder}.outcome.json").read_text())
    try:
        plain = _without_settings(folder)
        view = read(folder)[-1]
    except Exception as error:
        outcome |= {"failed": True, "error": f"{outcome['error']} {error}"}
        return store.Stored(job["label"], outcome, RunView(Path("run"), "run", "sb3"))
    returns, steps = view.episodes.returns, view.episodes.env_steps
    late = returns[steps >= 0.9 * view.env_steps]
    held_out = view["val/roll/ep_rew_mean"].values
    outcome |= {
        "logged": float(np.mean(late)) if len(late) else None,
        "val": float(held_out[-1]) if len(held_out) else None,
        "env_steps": view.env_steps,
        "state": "crashed" if outcome["error"] else "finished",
    }
    if job.get("recorded"):
        outcome["plain"] = plain
    view.path, view.id, view.weights = Path("run"), "run", []
    view.env = view.env or job["env"]
    return store.Stored(job["label"], outcome, view)
