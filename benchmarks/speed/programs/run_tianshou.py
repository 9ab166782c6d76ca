"""PPO with Tianshou: its collector and its update, without the trainer's progress bar and tests."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from harness import Stopwatch, linear, order, tell
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from tianshou.utils.torch_utils import policy_within_training_step


def algorithm(asked: dict[str, Any], env: gym.Env) -> PPO:
    hyper, rollout = asked["hyper"], asked["n_envs"] * asked["n_steps"]

    def torso() -> Net:
        shape = env.observation_space.shape
        return Net(state_shape=shape, hidden_sizes=[64, 64], activation=torch.nn.Tanh)

    actor = DiscreteActor(
        preprocess_net=torso(), action_shape=env.action_space.n, softmax_output=False
    )
    policy = DiscreteActorPolicy(
        actor=actor,
        dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
        action_space=env.action_space,
    )
    rate, last = linear(hyper["learning_rate"])
    optimizer = AdamOptimizerFactory(lr=rate, eps=1e-5)
    if last != rate:
        optimizer.with_lr_scheduler_factory(
            LRSchedulerFactoryLinear(1, asked["env_steps"], rollout)
        )
    return PPO(
        policy=policy,
        critic=DiscreteCritic(preprocess_net=torso()),
        optim=optimizer,
        eps_clip=linear(hyper["clip_range"])[0],  # no schedule
        advantage_normalization=True,
        vf_coef=0.5,
        ent_coef=hyper["ent_coef"],
        max_grad_norm=0.5,
        gae_lambda=hyper["gae_lambda"],
        gamma=hyper["gamma"],
    )


def main() -> None:
    asked = order()
    torch.set_num_threads(asked["options"]["threads"])
    torch.manual_seed(asked["seed"])
    np.random.seed(asked["seed"])  # noqa: NPY002 (Tianshou draws from it)
    hyper, n_envs = asked["hyper"], asked["n_envs"]
    envs = DummyVectorEnv([lambda: gym.make(asked["env"]) for _ in range(n_envs)])
    envs.seed(asked["seed"])
    ppo = algorithm(asked, gym.make(asked["env"]))
    rollout = n_envs * asked["n_steps"]
    collector = Collector(ppo, envs, VectorReplayBuffer(rollout, n_envs))
    collector.reset()
    stopwatch, env_steps, returns = Stopwatch(), 0, []
    while env_steps < asked["env_steps"]:
        with policy_within_training_step(ppo.policy):
            collected = collector.collect(n_step=rollout)
            ppo.update(collector.buffer, batch_size=hyper["batch_size"], repeat=hyper["n_epochs"])
        collector.reset_buffer(keep_statistics=True)
        env_steps += collected.n_collected_steps
        returns = [*returns, *collected.returns][-100:]
        stopwatch.first_iteration_over(env_steps)
    result = stopwatch.end(env_steps) | {"return": float(np.mean(returns))}
    tell(result, ["tianshou", "torch", "numpy", "gymnasium"])


if __name__ == "__main__":
    main()
