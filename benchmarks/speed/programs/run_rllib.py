"""PPO with RLlib, all in one process: other processes only cost on two cores (CartPole)."""

from __future__ import annotations

import logging
import os

os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
import torch
from harness import Stopwatch, linear, order, tell
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

COUNT, RETURN = "num_env_steps_sampled_lifetime", "episode_return_mean"
UPDATES_A_REPORT = 10  # RLlib's own reports are costly


def main() -> None:
    asked = order()
    hyper, budget = asked["hyper"], asked["env_steps"]
    rollout = asked["n_envs"] * asked["n_steps"]
    first, last = linear(hyper["learning_rate"])
    torch.set_num_threads(asked["options"]["threads"])
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    config = (
        PPOConfig()
        .environment(asked["env"])
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=asked["n_envs"],
            rollout_fragment_length=asked["n_steps"],
        )
        .learners(num_learners=0)
        .training(
            lr=first if first == last else [[0, first], [budget, last]],
            gamma=hyper["gamma"],
            lambda_=hyper["gae_lambda"],
            clip_param=linear(hyper["clip_range"])[0],  # no schedule
            train_batch_size_per_learner=rollout,
            minibatch_size=hyper["batch_size"],
            num_epochs=hyper["n_epochs"],
            entropy_coeff=hyper["ent_coef"],
            vf_loss_coeff=0.5,
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            grad_clip=0.5,
        )
        .rl_module(
            model_config=DefaultModelConfig(
                fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False
            )
        )
        .reporting(min_sample_timesteps_per_iteration=rollout * UPDATES_A_REPORT)
        .debugging(seed=asked["seed"], log_level="ERROR")
    )
    algo = config.build_algo()
    stopwatch, env_steps = Stopwatch(), 0
    while env_steps < budget:
        runners = algo.train()["env_runners"]
        env_steps = int(runners[COUNT])
        stopwatch.first_iteration_over(env_steps)
    result = stopwatch.end(env_steps) | {"return": float(runners[RETURN])}
    tell(result, ["ray", "torch", "numpy", "gymnasium"])
    algo.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
