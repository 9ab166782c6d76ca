"""Clean settings of Stable-Baselines3, in which a healthy run learns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.faults.setting import BALANCE, CATCH, DESCENT, FOLLOW, GRID, POINT_MASS, SWING

NET = {"policy_kwargs": {"net_arch": [64, 64]}}


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

    @property
    def environment(self) -> str:
        """The word by which settings.py calls it too."""
        return self.name.removeprefix("sb3-").partition("-")[0]


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
        # -- environments that are of the training split with dressage too ------------------------
        Sb3Setting(
            "sb3-grid-ppo", "train", "PPO", GRID, 12_288,
            {"n_steps": 32, "batch_size": 128, "n_epochs": 6, "gamma": 0.95, "gae_lambda": 0.95,
             "learning_rate": [2e-3, 0.0], "ent_coef": 0.01}, 8,
        ),
        Sb3Setting(
            "sb3-swing-ppo", "train", "PPO", SWING, 32_768,
            {"n_steps": 128, "batch_size": 128, "n_epochs": 6, "gamma": 0.97, "gae_lambda": 0.95,
             "learning_rate": [1e-3, 0.0]}, 8,
        ),
        Sb3Setting(
            "sb3-balance-ppo", "train", "PPO", BALANCE, 10_240,
            {"n_steps": 32, "batch_size": 64, "n_epochs": 6, "gamma": 0.98, "gae_lambda": 0.95,
             "learning_rate": [1e-3, 0.0]}, 8,
        ),
        Sb3Setting(
            "sb3-follow-ppo", "train", "PPO", FOLLOW, 20_480,
            {"n_steps": 80, "batch_size": 128, "n_epochs": 8, "gamma": 0.95, "gae_lambda": 0.95,
             "learning_rate": [1e-3, 0.0]}, 8,
        ),
        Sb3Setting(
            "sb3-grid-a2c", "train", "A2C", GRID, 24_000,
            {"n_steps": 10, "gamma": 0.95, "gae_lambda": 0.95, "learning_rate": [3e-3, 0.0],
             "ent_coef": 0.01}, 8,
        ),
        Sb3Setting(
            "sb3-follow-a2c", "train", "A2C", FOLLOW, 40_000,
            {"n_steps": 20, "gamma": 0.95, "gae_lambda": 0.9, "learning_rate": [2e-3, 0.0]}, 16,
        ),
        Sb3Setting(
            "sb3-grid-dqn", "train", "DQN", GRID, 6_000,
            {**OFF, "learning_rate": 2e-3, "gamma": 0.95, "train_freq": 4, "gradient_steps": 1,
             "target_update_interval": 200, "exploration_fraction": 0.4,
             "exploration_final_eps": 0.05},
        ),
        Sb3Setting(
            "sb3-swing-dqn", "train", "DQN", SWING, 8_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.97, "train_freq": 4, "gradient_steps": 1,
             "target_update_interval": 250, "exploration_fraction": 0.3,
             "exploration_final_eps": 0.05},
        ),
        Sb3Setting(
            "sb3-catch-dqn", "train", "DQN", CATCH, 12_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95, "train_freq": 4, "gradient_steps": 2,
             "target_update_interval": 100, "exploration_fraction": 0.4,
             "exploration_final_eps": 0.05},
        ),
        Sb3Setting(
            "sb3-descent-dqn", "train", "DQN", DESCENT, 12_000,
            {**OFF, "learning_rate": 1e-3, "train_freq": 4, "gradient_steps": 1,
             "target_update_interval": 400, "exploration_fraction": 0.4,
             "exploration_final_eps": 0.03},
        ),
        Sb3Setting(
            "sb3-follow-sac", "train", "SAC", FOLLOW, 3_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.95, "train_freq": 2},
        ),
        Sb3Setting(
            "sb3-balance-sac", "train", "SAC", BALANCE, 4_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.98, "train_freq": 2},
        ),
        Sb3Setting(
            "sb3-follow-td3", "train", "TD3", FOLLOW, 5_000,
            {**OFF, "learning_rate": 1e-3, "gamma": 0.9, "train_freq": 1, "noise": 0.2,
             "learning_starts": 500},
        ),
    )
}  # fmt: skip


def _of(*names: str) -> tuple[str, ...]:
    return tuple(f"sb3-{name}" for name in names)


# The settings that a fault is put into; the algorithm of the first is in the fault's name.
ON_POLICY = _of(
    "cartpole-ppo", "pointmass-ppo", "grid-ppo", "swing-ppo", "balance-ppo", "follow-ppo"
)
A2C = _of("cartpole-a2c", "pointmass-a2c", "grid-a2c", "follow-a2c")
VALUES = _of("cartpole-dqn", "pointmass-dqn", "grid-dqn", "swing-dqn", "catch-dqn", "descent-dqn")
SAC = _of("pendulum-sac", "pointmass-sac", "follow-sac", "balance-sac")
NOISY = _of("pendulum-ddpg", "pointmass-td3", "follow-td3")
ALL = (*ON_POLICY, *VALUES, *SAC)
