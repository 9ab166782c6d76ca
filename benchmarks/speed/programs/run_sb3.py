"""Stable-Baselines3, and recurrent PPO of sb3-contrib: nothing logged, nothing saved."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from harness import Stopwatch, linear, order, tell
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack, VecNormalize


class Watch(BaseCallback):
    """Notes when the first iteration is over; to solve, evaluates and stops at the return asked."""

    def __init__(self, solve: dict[str, Any] | None, learning_starts: int = 0) -> None:
        super().__init__()
        self.learning_starts = learning_starts  # env steps without updates
        self.stopwatch, self.solve = Stopwatch(), solve
        self.solved: dict[str, Any] | None = None
        self.evaluations = 0
        if solve:  # all episodes side by side: faster than one after the other
            self.eval_env = make_vec_env(solve["env"], solve["episodes"], seed=10_000)

    def _on_rollout_start(self) -> None:  # the end of the update before it
        if self.num_timesteps > self.learning_starts:
            self.stopwatch.first_iteration_over(self.num_timesteps)
        if self.solve and self.num_timesteps // self.solve["every"] > self.evaluations:
            self._evaluate()

    def _evaluate(self) -> None:
        from stable_baselines3.common.evaluation import evaluate_policy

        self.evaluations += 1
        mean, _ = evaluate_policy(self.model, self.eval_env, self.solve["episodes"])
        if mean >= self.solve["return"]:
            steps = self.num_timesteps
            self.solved = {"at": time.monotonic(), "return": float(mean), "env_steps": steps}

    def _on_step(self) -> bool:
        return self.solved is None

    def _on_training_end(self) -> None:
        if self.solve and self.solved is None:
            self._evaluate()


def schedule(value: float | str) -> float | Callable[[float], float]:
    """SB3's form: a function of the progress that remains."""
    first, last = linear(value)
    return first if first == last else lambda remaining: last + (first - last) * remaining


def translate(hyper: dict[str, Any]) -> dict[str, Any]:
    given = dict(hyper)
    network = {k: given.pop(k) for k in ("net_arch", "log_std_init", "ortho_init") if k in given}
    if "activation" in given:
        from torch import nn

        network["activation_fn"] = {"tanh": nn.Tanh, "relu": nn.ReLU}[given.pop("activation")]
    if given.pop("recurrent", None):
        network["lstm_hidden_size"] = given.pop("hidden_size")
    if "epsilon" in given:
        first, last, until = given.pop("epsilon").removeprefix("linear(").rstrip(")").split(",")
        given["exploration_initial_eps"] = float(first)
        given["exploration_final_eps"] = float(last)
        given["exploration_fraction"] = float(until.strip().removeprefix("until="))
    for key in ("learning_rate", "clip_range"):
        if key in given:
            given[key] = schedule(given[key])
    return given | ({"policy_kwargs": network} if network else {})


class MaskVelocity(gym.ObservationWrapper):
    """CartPole without its velocities."""

    def observation(self, observation: Any) -> Any:
        return observation * np.array((1, 0, 1, 0), np.float32)


def environments(asked: dict[str, Any]) -> Any:
    kind = SubprocVecEnv if asked["options"].get("subprocesses") else DummyVecEnv
    make = partial(make_vec_env, n_envs=asked["n_envs"], seed=asked["seed"], vec_env_cls=kind)
    if "atari" in asked["wrappers"]:
        env = make_atari_env(
            f"ale_py:{asked['env']}",  # subprocesses must import it too
            n_envs=asked["n_envs"],
            seed=asked["seed"],
            vec_env_cls=kind,
            env_kwargs={"frameskip": 1},
        )
        return VecFrameStack(env, 4)
    name: Any = asked["env"]
    if ":" in name:
        module, _, attribute = name.partition(":")
        name = getattr(importlib.import_module(module), attribute)
    wrapper = MaskVelocity if "mask_velocity" in asked["wrappers"] else None
    env = make(name, wrapper_class=wrapper)
    return VecNormalize(env, gamma=asked["hyper"]["gamma"]) if asked["normalize"] else env


def train(kind: Any, policy: str, packages: list[str]) -> None:
    asked = order()
    env = environments(asked)
    hyper = translate(asked["hyper"])
    watch = Watch(asked.get("solve"), hyper.get("learning_starts", 0))
    if asked["algo"] == "ppo":
        hyper["n_steps"] = asked["n_steps"]
    if asked["algo"] == "td3":  # dressage explores with such noise
        size = env.action_space.shape[0]
        hyper["action_noise"] = NormalActionNoise(np.zeros(size), 0.1 * np.ones(size))
    model = kind(policy, env, seed=asked["seed"], device="cpu", **hyper)
    model.learn(asked["env_steps"], callback=watch)
    result = watch.stopwatch.end(model.num_timesteps)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    result["return"] = float(np.mean(returns)) if returns else None
    result["solved"] = watch.solved
    env.close()
    tell(result, [*packages, "stable-baselines3", "torch", "numpy", "gymnasium"])


def main() -> None:
    import torch

    asked = order()
    torch.set_num_threads(asked["options"]["threads"])
    if asked["hyper"].get("recurrent"):
        from sb3_contrib import RecurrentPPO

        return train(RecurrentPPO, "MlpLstmPolicy", ["sb3-contrib"])
    import stable_baselines3

    atari = "atari" in asked["wrappers"]
    kind = getattr(stable_baselines3, asked["algo"].upper())
    return train(kind, "CnnPolicy" if atari else "MlpPolicy", ["mujoco", "ale-py"])


if __name__ == "__main__":
    main()
