"""Healthy runs as people make them: well-known tasks with the settings that libraries ship.

They carry no faults. Rules that speak up here speak without need, and a diagnosis is told so: what
healthy runs look like is counted on these, too.
"""

from __future__ import annotations

from typing import Any

from benchmarks.faults.setting import (
    AIM,
    DIAL,
    DOCK,
    FURNACE,
    SMALL_OFF,
    SORTING,
    VALUES,
    Setting,
)

CLASSIC = "CartPole-v1"
# Stable-Baselines3's defaults, in one environment.
SB3_PPO: dict[str, Any] = {"n_envs": 1, "n_steps": 2048, "batch_size": 64, "n_epochs": 10}
# CleanRL's ppo.py.
CLEANRL_PPO: dict[str, Any] = {
    "n_envs": 4,
    "n_steps": 128,
    "batch_size": 128,
    "n_epochs": 4,
    "learning_rate": "linear(2.5e-4, 0)",
    "ent_coef": 0.01,
}
BIG_OFF: dict[str, Any] = {"net_arch": [256, 256], "batch_size": 256, "buffer_size": 50_000}
MUJOCO_PPO: dict[str, Any] = {
    "n_envs": 4,
    "n_steps": 512,
    "batch_size": 64,
    "n_epochs": 10,
    "learning_rate": "linear(3e-4, 0)",
    "normalize_obs": True,
    "normalize_reward": True,
}
CHOICES = {"action": "discrete"}
HIDDEN_DQN: dict[str, Any] = {
    **VALUES,
    "learning_rate": 1e-3,
    "gamma": 0.9,
    "train_freq": 4,
    "gradient_steps": 2,
    "target_update_interval": 150,
    "epsilon": "linear(1, 0.05, until=0.35)",
}
STUCK_DQN: dict[str, Any] = {
    **VALUES,
    "learning_rate": 6e-4,
    "train_freq": 4,
    "gradient_steps": 2,
    "target_update_interval": 250,
    "epsilon": "linear(1, 0.05, until=0.2)",
}
HIDDEN_ACTOR: dict[str, Any] = {**SMALL_OFF, "gamma": 0.9, "train_freq": 2}
HIDDEN_PPO: dict[str, Any] = {
    "n_envs": 4,
    "n_steps": 64,
    "batch_size": 64,
    "n_epochs": 6,
    "gamma": 0.9,
    "learning_rate": 1e-3,
}
TABLE_DQN: dict[str, Any] = {
    "net_arch": [64],
    "learning_rate": 1e-3,
    "batch_size": 64,
    "buffer_size": 20_000,
    "learning_starts": 500,
    "train_freq": 4,
    "target_update_interval": 500,
    "epsilon": "linear(1, 0.05, until=0.5)",
}


def usual(
    name: str, algo: str, env: str, *parts: dict[str, Any], unfinished: bool = False, **more: Any
) -> Setting:
    config = {key: value for part in (*parts, more) for key, value in part.items()}
    return Setting(name, "train", algo, env, config, unfinished)


SETTINGS = (
    usual("cartpole-usual-sb3", "ppo", CLASSIC, SB3_PPO, env_steps=51_200),
    usual("cartpole-usual-cleanrl", "ppo", CLASSIC, CLEANRL_PPO, env_steps=150_000),
    usual("pendulum-usual-sac", "sac", "Pendulum-v1", BIG_OFF, env_steps=6_000, learning_rate=1e-3),
    usual(
        "pendulum-usual-td3",
        "td3",
        "Pendulum-v1",
        env_steps=8_000,
        net_arch=[400, 300],
        batch_size=100,
        gamma=0.98,
        learning_rate=1e-3,
        learning_starts=1000,
        noise_std=0.1,
    ),
    usual(
        "hill-usual-ppo",
        "ppo",
        "MountainCarContinuous-v0",
        env_steps=20_480,
        n_envs=8,
        n_steps=128,
        batch_size=256,
        n_epochs=10,
        gamma=0.9999,
        gae_lambda=0.9,
        learning_rate="linear(3e-4, 0)",
        normalize_obs=True,
        normalize_reward=True,
    ),
    usual(
        "valley-usual-ppo",
        "ppo",
        "MountainCar-v0",
        env_steps=1_000_000,
        n_envs=16,
        n_steps=16,
        batch_size=64,
        n_epochs=4,
        gae_lambda=0.98,
        learning_rate="linear(1e-3, 0)",
        normalize_obs=True,
        normalize_reward=True,
    ),
    usual(
        "frozenlake-usual-ppo",
        "ppo",
        "FrozenLake-v1",
        CLEANRL_PPO,
        env_steps=100_000,
        unfinished=True,
    ),
    usual(
        "frozenlake-usual-still",
        "ppo",
        "FrozenLake-v1",
        CLEANRL_PPO,
        env_kwargs={"is_slippery": False},
        env_steps=40_960,
        learning_rate=1e-3,
    ),
    usual(
        "frozenlake-usual-dqn",
        "dqn",
        "FrozenLake-v1",
        TABLE_DQN,
        env_kwargs={"is_slippery": False},
        env_steps=30_000,
    ),
    usual(
        "taxi-usual-ppo",
        "ppo",
        "Taxi-v4",
        CLEANRL_PPO,
        env_steps=400_000,
        n_envs=8,
        learning_rate="linear(1e-3, 0)",
    ),
    usual("taxi-usual-dqn", "dqn", "Taxi-v4", TABLE_DQN, env_steps=80_000, n_envs=1),
    usual("blackjack-usual-ppo", "ppo", "Blackjack-v1", CLEANRL_PPO, env_steps=150_000),
    usual("twopoles-usual-ppo", "ppo", "InvertedDoublePendulum-v5", MUJOCO_PPO, env_steps=300_000),
    usual(
        "twopoles-usual-sac",
        "sac",
        "InvertedDoublePendulum-v5",
        BIG_OFF,
        env_steps=10_000,
        unfinished=True,
    ),
    usual("reacher-usual-ppo", "ppo", "Reacher-v5", MUJOCO_PPO, env_steps=200_000, unfinished=True),
    usual("reacher-usual-sac", "sac", "Reacher-v5", BIG_OFF, env_steps=10_000, unfinished=True),
    usual(
        "swimmer-usual-ppo",
        "ppo",
        "Swimmer-v5",
        MUJOCO_PPO,
        env_steps=200_000,
        gamma=0.999,
        unfinished=True,
    ),
    usual("hopper-usual-ppo", "ppo", "Hopper-v5", MUJOCO_PPO, env_steps=200_000, unfinished=True),
    usual(
        "cheetah-usual-ppo", "ppo", "HalfCheetah-v5", MUJOCO_PPO, env_steps=200_000, unfinished=True
    ),
    usual("walker-usual-ppo", "ppo", "Walker2d-v5", MUJOCO_PPO, env_steps=200_000, unfinished=True),
    # -- observations as MuJoCo gives them: far beyond ten, and learned from all the same
    usual("hopper-usual-raw", "ppo", "Hopper-v5", SB3_PPO, env_steps=102_400, unfinished=True),
    usual(
        "cheetah-usual-raw", "ppo", "HalfCheetah-v5", SB3_PPO, env_steps=102_400, unfinished=True
    ),
    usual("walker-usual-raw", "ppo", "Walker2d-v5", SB3_PPO, env_steps=102_400, unfinished=True),
    usual("pusher-usual-ppo", "ppo", "Pusher-v5", MUJOCO_PPO, env_steps=200_000, unfinished=True),
    usual("ant-usual-ppo", "ppo", "Ant-v5", MUJOCO_PPO, env_steps=102_400, unfinished=True),
    usual(
        "standup-usual-ppo",
        "ppo",
        "HumanoidStandup-v5",
        MUJOCO_PPO,
        env_steps=81_920,
        unfinished=True,
    ),
    usual("hopper-usual-sac", "sac", "Hopper-v5", BIG_OFF, env_steps=12_000, unfinished=True),
    usual("cheetah-usual-sac", "sac", "HalfCheetah-v5", BIG_OFF, env_steps=12_000, unfinished=True),
    usual("walker-usual-td3", "td3", "Walker2d-v5", BIG_OFF, env_steps=12_000, unfinished=True),
    usual("swimmer-usual-sac", "sac", "Swimmer-v5", BIG_OFF, env_steps=12_000, unfinished=True),
    usual("pusher-usual-sac", "sac", "Pusher-v5", BIG_OFF, env_steps=12_000, unfinished=True),
    usual(
        "valley-usual-dqn",
        "dqn",
        "MountainCar-v0",
        env_steps=120_000,
        net_arch=[256, 256],
        learning_rate=4e-3,
        batch_size=128,
        buffer_size=10_000,
        learning_starts=1000,
        gamma=0.98,
        n_step=5,
        target_update_interval=600,
        train_freq=16,
        gradient_steps=8,
        epsilon="linear(1, 0.07, until=0.2)",
    ),
    usual(
        "cliff-usual-dqn",
        "dqn",
        "CliffWalking-v1",
        TABLE_DQN,
        env_kwargs={"max_episode_steps": 200},
        env_steps=40_000,
    ),
    usual(
        "cliff-usual-ppo",
        "ppo",
        "CliffWalking-v1",
        CLEANRL_PPO,
        env_kwargs={"max_episode_steps": 200},
        env_steps=100_000,
        learning_rate=1e-3,
    ),
    usual("blackjack-usual-dqn", "dqn", "Blackjack-v1", TABLE_DQN, env_steps=40_000),
    usual(
        "menu-usual-ppo",
        "ppo",
        "dressage.envs.toys:Menu",
        CLEANRL_PPO,
        env_steps=16_384,
        learning_rate=1e-3,
    ),
    usual(
        "bandit-usual-ppo",
        "ppo",
        "dressage.envs.toys:Bandit",
        CLEANRL_PPO,
        env_steps=16_384,
        learning_rate=1e-3,
    ),
    usual(
        "recall-usual-ppo",
        "ppo",
        "dressage.envs.toys:Recall",
        CLEANRL_PPO,
        env_steps=32_768,
        learning_rate=1e-3,
        recurrent="gru",
        hidden_size=32,
    ),
    # Tasks that end after a number of steps that the observation does not tell.
    usual("sorting-dqn", "dqn", SORTING, HIDDEN_DQN, env_steps=6_000),
    usual("sorting-qr", "qr_dqn", SORTING, HIDDEN_DQN, env_steps=6_000, n_quantiles=16),
    usual("sorting-ppo", "ppo", SORTING, HIDDEN_PPO, env_steps=12_288),
    usual("aim-dqn", "dqn", AIM, HIDDEN_DQN, env_steps=8_000, env_kwargs=CHOICES),
    usual("aim-ddpg", "ddpg", AIM, HIDDEN_ACTOR, env_steps=5_000),
    usual("aim-sac", "sac", AIM, HIDDEN_ACTOR, env_steps=5_000),
    usual("aim-ppo", "ppo", AIM, HIDDEN_PPO, env_steps=12_288),
    usual("furnace-dqn", "dqn", FURNACE, HIDDEN_DQN, env_steps=12_000, env_kwargs=CHOICES),
    usual("furnace-td3", "td3", FURNACE, HIDDEN_ACTOR, env_steps=6_000),
    usual("furnace-ppo", "ppo", FURNACE, HIDDEN_PPO, env_steps=20_480),
    # Tasks in which a greedy policy goes round in circles at times: evaluations, not training.
    usual("dial-dqn", "dqn", DIAL, STUCK_DQN, env_steps=20_000),
    usual("dial-qr", "qr_dqn", DIAL, STUCK_DQN, env_steps=16_000, n_quantiles=16),
    usual("dock-dqn", "dqn", DOCK, STUCK_DQN, env_steps=14_000),
)
