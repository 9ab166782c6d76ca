"""What the fork server imports: everything that training uses, and nothing is run."""

import gymnasium.envs.classic_control  # noqa: F401
import own_envs  # noqa: F401
import pytest  # noqa: F401
import torch._dynamo  # noqa: F401

import dressage.algos.ppo
import dressage.api
import dressage.judge
import dressage.nets.actor_critic
import dressage.seeds
import dressage.training  # noqa: F401
