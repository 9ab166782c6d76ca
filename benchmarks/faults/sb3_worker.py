"""Trains with Stable-Baselines3 and logs as its users do.

    python -m benchmarks.faults.sb3_worker JOBS.json

Each job gets a folder with progress.csv, monitor files, evaluations.npz and the saved model, and
beside it a file with its outcome. What is there already is not made again. A job that is `recorded`
has the metrics of `dressage.sb3.Recorder` too, which change nothing else.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import stable_baselines3 as sb3
import torch
from benchmarks.faults.injections import recording
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EvalCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dressage.sb3 import Recorder

EVALUATIONS, EVAL_EPISODES = 10, 5


def main() -> None:
    torch.set_num_threads(1)
    for job in json.loads(Path(sys.argv[1]).read_text()):
        folder = Path(job["folder"])
        outcome = Path(f"{folder}.outcome.json")
        if outcome.exists():
            continue
        error = ""
        recording.MADE.clear()
        try:
            train(job, folder)
        except Exception as failed:
            error = f"{type(failed).__name__}: {failed}"
        final = recording.late_return(job["n_envs"])
        outcome.write_text(json.dumps({"final": final, "error": error}))


def train(job: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    env = environments(job, job["n_envs"], job["seed"], folder)
    beside = environments(job | job.get("eval", {}), 1, job["seed"] + 10_000, None)
    every = max(1, job["env_steps"] // EVALUATIONS // job["n_envs"])
    evaluate = EvalCallback(
        beside, n_eval_episodes=EVAL_EPISODES, eval_freq=every, log_path=str(folder), verbose=0
    )
    faults = [FAULTS[name](**kwargs) for name, kwargs in job["code"]]
    recorder = [Recorder()] if job.get("recorded") else []
    calls = CallbackList([*faults, *recorder, evaluate])
    model = make_model(job, env)
    logger = configure(str(folder), ["csv"])
    model.set_logger(logger)
    parts = job.get("parts", 1)
    for part in range(parts):
        model.learn(
            job["env_steps"] // parts,
            callback=calls,
            reset_num_timesteps=part == 0,
            log_interval=job.get("log_interval", 1),
        )
        if job.get("reload") and part < parts - 1:  # the result of load() is thrown away
            fresh = make_model(job, env)
            fresh.num_timesteps = model.num_timesteps
            fresh._episode_num = model._episode_num
            model = fresh
            model.set_logger(logger)
    model.save(folder / "model.zip")


def environments(job: dict[str, Any], n_envs: int, seed: int, folder: Path | None) -> Any:
    def maker(index: int) -> Any:
        def make() -> Any:
            env = named(job["env"], job["env_kwargs"])
            if folder is not None:
                env = recording.TrueReturn(env)
            path = None if folder is None else str(folder / str(index))
            if job.get("unlogged"):  # as with `make_vec_env(wrapper_class=…)`
                return wrapped(Monitor(env, path), job["wrappers"])
            return Monitor(wrapped(env, job["wrappers"]), path)

        return make

    made = DummyVecEnv([maker(index) for index in range(n_envs)])
    made.seed(seed)
    if "normalize" in job:
        made = VecNormalize(made, gamma=0.95, **job["normalize"])
    return made


def wrapped(env: Any, wrappers: list[tuple[str, dict[str, Any]]]) -> Any:
    for name, kwargs in wrappers:
        module, _, kind = name.partition(":")
        wrapper = getattr(import_module(f"benchmarks.faults.injections.{module}"), kind)
        env = wrapper(env, **kwargs)
    return env


def named(env: str, kwargs: dict[str, Any]) -> Any:
    module, colon, kind = env.partition(":")
    return getattr(import_module(module), kind)(**kwargs) if colon else gym.make(env, **kwargs)


def make_model(job: dict[str, Any], env: Any) -> Any:
    given = dict(job["hyper"])
    for key in ("learning_rate", "clip_range"):
        if isinstance(given.get(key), list):  # its ends
            given[key] = linear(*given[key])
    sigma = given.pop("noise", None)
    if sigma is not None:
        size = env.action_space.shape
        given["action_noise"] = NormalActionNoise(np.zeros(size), np.full(size, sigma))
    policy = dict(given.pop("policy_kwargs", {}))
    if "optimizer_class" in policy:
        policy["optimizer_class"] = getattr(torch.optim, policy["optimizer_class"])
    if "activation_fn" in policy:
        policy["activation_fn"] = getattr(torch.nn, policy["activation_fn"])
    if "n_steps" in given and job["algo"] in ("PPO", "A2C"):
        policy.setdefault("net_arch", [64, 64])
    kind = getattr(sb3, job["algo"])
    return kind("MlpPolicy", env, policy_kwargs=policy, seed=job["seed"], device="cpu", **given)


def linear(first: float, last: float, until: float = 1.0) -> Any:
    """A schedule of the progress that remains."""

    def value(remaining: float) -> float:
        return last + (first - last) * max(0.0, 1.0 - (1.0 - remaining) / until)

    return value


class InCode(BaseCallback):
    """A fault in code, put in by what a callback can reach."""

    def _on_step(self) -> bool:
        return True


class AdvantageNegated(InCode):
    def _on_rollout_end(self) -> None:
        self.model.rollout_buffer.advantages *= -1.0


class ReturnsReversed(InCode):
    def _on_rollout_end(self) -> None:
        buffer = self.model.rollout_buffer
        for name in ("advantages", "returns"):
            setattr(buffer, name, getattr(buffer, name)[::-1].copy())


class ActorFrozen(InCode):
    def _on_training_start(self) -> None:
        policy = self.model.policy
        for module in (policy.mlp_extractor.policy_net, policy.action_net):
            for parameter in module.parameters():
                parameter.requires_grad_(False)


class AddedOtherwise(InCode):
    """Changes what the replay memory is given."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what, self.rng, self.pool = what, np.random.default_rng(0), []

    def _on_training_start(self) -> None:
        buffer = self.model.replay_buffer
        original = buffer.add

        def add(obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
            if self.what == "terminals":
                done = np.zeros_like(done)
            elif self.what == "successors":
                self.pool = [*self.pool[-500:], next_obs]
                next_obs = self.pool[self.rng.integers(len(self.pool))]
            elif self.what == "stale":
                next_obs = obs
            original(obs, next_obs, action, reward, done, infos)

        buffer.add = add


class MomentsDamaged(InCode):
    """The optimizer's moments are damaged late in the run, as by a bad load."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.done = at, False

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.at and not self.done:
            self.done = True
            for optimizer in [self.model.policy.optimizer]:
                for state in optimizer.state.values():
                    state["exp_avg"] *= 1e3
                    state["exp_avg_sq"] *= 1e-4
        return True


FAULTS = {
    kind.__name__: kind
    for kind in (AdvantageNegated, ReturnsReversed, ActorFrozen, AddedOtherwise, MomentsDamaged)
}

if __name__ == "__main__":
    main()
