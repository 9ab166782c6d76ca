"""The clean settings: algorithm, environment and hyperparameters with which a healthy run learns.

`split`: rules and inference see runs of the training settings alone. The split is by setting, and
nearly by environment: where an environment is on both sides, the algorithms differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Setting:
    name: str
    split: Split
    algo: str
    env: str
    config: dict[str, Any]  # overrides of the algorithm's defaults; the budget among them

    @property
    def env_steps(self) -> int:
        return int(self.config["env_steps"])

    @property
    def kind(self) -> str:
        """What faults it can have: on-policy with choices or numbers, value-based, actor-critic."""
        if self.algo in ("ppo", "a2c", "reinforce"):
            given = self.config.get("env_kwargs")
            continuous = (
                self.env in (*CONTINUOUS, FOLLOW, BALANCE)
                or given == BOX
                or (self.env == POINT_MASS and not given)
            )
            return "on-policy-continuous" if continuous else "on-policy-discrete"
        return "actor-critic" if self.algo in ("sac", "td3", "ddpg", "tqc") else "value-based"


BOX = {"action": "box"}
CONTINUOUS = ("Pendulum-v1", "InvertedPendulum-v5")
IDENTITY = "dressage.envs.toys:Identity"
POINT_MASS = "benchmarks.faults.tasks:PointMass"
FOLLOW = "benchmarks.faults.tasks:Follow"
DESCENT = "benchmarks.faults.tasks:Descent"
GRID = "benchmarks.faults.tasks:Grid"
BALANCE = "benchmarks.faults.training_tasks:Balance"
CATCH = "benchmarks.faults.training_tasks:Catch"
SWING = "benchmarks.faults.training_tasks:Swing"
GUESS = "benchmarks.faults.training_tasks:Guess"

# Twin critics of two layers of 64 on small batches: a few seconds a run.
SMALL_OFF: dict[str, Any] = {
    "net_arch": [64, 64],
    "batch_size": 64,
    "learning_rate": 1e-3,
    "buffer_size": 50_000,
    "learning_starts": 500,
}
VALUES: dict[str, Any] = {
    "net_arch": [64, 64],
    "batch_size": 64,
    "buffer_size": 50_000,
    "learning_starts": 500,
}

SETTINGS = {
    setting.name: setting
    for setting in (
        # -- train: CartPole, Pendulum, a corridor ---------------------------------------------
        Setting(
            "cartpole-ppo",
            "train",
            "ppo",
            "CartPole-v1",
            {
                "env_steps": 40_960,
                "n_envs": 8,
                "n_steps": 64,
                "batch_size": 128,
                "n_epochs": 8,
                "gamma": 0.98,
                "gae_lambda": 0.9,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
        Setting(
            "cartpole-ppo-long",
            "train",
            "ppo",
            "CartPole-v1",
            {
                "env_steps": 81_920,
                "n_envs": 4,
                "n_steps": 256,
                "batch_size": 64,
                "n_epochs": 10,
                "learning_rate": 3e-4,
                "ent_coef": 0.005,
            },
        ),
        Setting(
            "cartpole-a2c",
            "train",
            "a2c",
            "CartPole-v1",
            {
                "env_steps": 100_000,
                "n_envs": 8,
                "n_steps": 16,
                "learning_rate": "linear(2e-3, 0)",
                "gae_lambda": 0.95,
            },
        ),
        Setting(
            "cartpole-reinforce",
            "train",
            "reinforce",
            "CartPole-v1",
            {"env_steps": 100_000, "n_envs": 4, "n_steps": 256, "learning_rate": 5e-3},
        ),
        Setting(
            "cartpole-dqn",
            "train",
            "dqn",
            "CartPole-v1",
            {
                **VALUES,
                "env_steps": 30_000,
                "learning_rate": 5e-4,
                "batch_size": 128,
                "gamma": 0.98,
                "n_step": 3,
                "train_freq": 4,
                "gradient_steps": 2,
                "target_update_interval": 500,
                "epsilon": "linear(1, 0.05, until=0.2)",
            },
        ),
        Setting(
            "cartpole-dqn-light",
            "train",
            "dqn",
            "CartPole-v1",
            {
                **VALUES,
                "env_steps": 16_000,
                "learning_rate": 1e-3,
                "gamma": 0.98,
                "n_step": 3,
                "train_freq": 8,
                "gradient_steps": 3,
                "target_update_interval": 400,
                "epsilon": "linear(1, 0.05, until=0.25)",
            },
        ),
        Setting(
            "corridor-dqn",
            "train",
            "dqn",
            "dressage.envs.toys:Corridor",
            {
                **VALUES,
                "env_kwargs": {"length": 10},
                "env_steps": 12_000,
                "learning_rate": 1e-3,
                "gamma": 0.95,
                "train_freq": 8,
                "gradient_steps": 4,
                "target_update_interval": 200,
                "epsilon": "linear(1, 0.05, until=0.5)",
            },
        ),
        Setting(
            "cartpole-qr",
            "train",
            "qr_dqn",
            "CartPole-v1",
            {
                **VALUES,
                "env_steps": 20_000,
                "learning_rate": 1e-3,
                "gamma": 0.98,
                "n_step": 3,
                "train_freq": 8,
                "gradient_steps": 2,
                "target_update_interval": 500,
                "epsilon": "linear(1, 0.05, until=0.2)",
                "n_quantiles": 16,
            },
        ),
        Setting(
            "pendulum-ppo",
            "train",
            "ppo",
            "Pendulum-v1",
            {
                "env_steps": 102_400,
                "n_envs": 8,
                "n_steps": 256,
                "batch_size": 128,
                "n_epochs": 10,
                "gamma": 0.9,
                "gae_lambda": 0.95,
                "learning_rate": "linear(2e-3, 0)",
                "normalize_reward": True,
            },
        ),
        Setting(
            "pendulum-sac",
            "train",
            "sac",
            "Pendulum-v1",
            {**SMALL_OFF, "env_steps": 6_000, "gamma": 0.95},
        ),
        Setting(
            "pendulum-td3",
            "train",
            "td3",
            "Pendulum-v1",
            {**SMALL_OFF, "env_steps": 8_000, "gamma": 0.95, "noise_std": 0.2},
        ),
        Setting(
            "pendulum-ddpg",
            "train",
            "ddpg",
            "Pendulum-v1",
            {**SMALL_OFF, "env_steps": 8_000, "gamma": 0.98, "train_freq": 2, "gradient_steps": 2},
        ),
        # -- train: three tasks of the benchmark's own --------------------------------------------
        Setting(
            "follow-ppo",
            "train",
            "ppo",
            FOLLOW,
            {
                "env_steps": 61_440,
                "n_envs": 8,
                "n_steps": 160,
                "batch_size": 128,
                "n_epochs": 8,
                "gamma": 0.95,
                "gae_lambda": 0.95,
                "learning_rate": "linear(1e-3, 0)",
                "normalize_reward": True,
            },
        ),
        Setting(
            "follow-a2c",
            "train",
            "a2c",
            FOLLOW,
            {
                "env_steps": 80_000,
                "n_envs": 8,
                "n_steps": 20,
                "gamma": 0.95,
                "gae_lambda": 0.9,
                "learning_rate": "linear(2e-3, 0)",
                "log_std_init": -0.5,
                "normalize_reward": True,
            },
        ),
        Setting(
            "follow-sac",
            "train",
            "sac",
            FOLLOW,
            {**SMALL_OFF, "env_steps": 8_000, "gamma": 0.95, "train_freq": 2},
        ),
        Setting(
            "follow-td3",
            "train",
            "td3",
            FOLLOW,
            {**SMALL_OFF, "env_steps": 8_000, "gamma": 0.95, "train_freq": 2, "noise_std": 0.2},
        ),
        Setting(
            "descent-ppo",
            "train",
            "ppo",
            DESCENT,
            {
                "env_steps": 61_440,
                "n_envs": 8,
                "n_steps": 128,
                "batch_size": 64,
                "n_epochs": 6,
                "gamma": 0.99,
                "gae_lambda": 0.95,
                "learning_rate": "linear(1e-3, 0)",
                "normalize_reward": True,
            },
        ),
        Setting(
            "descent-dqn",
            "train",
            "dqn",
            DESCENT,
            {
                **VALUES,
                "env_steps": 24_000,
                "learning_rate": 5e-4,
                "train_freq": 4,
                "gradient_steps": 2,
                "n_step": 3,
                "target_update_interval": 400,
                "epsilon": "linear(1, 0.03, until=0.4)",
            },
        ),
        Setting(
            "grid-ppo",
            "train",
            "ppo",
            GRID,
            {
                "env_steps": 61_440,
                "n_envs": 8,
                "n_steps": 64,
                "batch_size": 64,
                "n_epochs": 6,
                "gamma": 0.95,
                "gae_lambda": 0.95,
                "learning_rate": "linear(2e-3, 0)",
                "ent_coef": 0.01,
            },
        ),
        Setting(
            "grid-a2c",
            "train",
            "a2c",
            GRID,
            {
                "env_steps": 100_000,
                "n_envs": 16,
                "n_steps": 10,
                "gamma": 0.95,
                "gae_lambda": 0.95,
                "learning_rate": "linear(3e-3, 0)",
                "ent_coef": 0.01,
            },
        ),
        Setting(
            "grid-dqn",
            "train",
            "dqn",
            GRID,
            {
                **VALUES,
                "env_steps": 20_000,
                "learning_rate": 1e-3,
                "gamma": 0.95,
                "train_freq": 4,
                "gradient_steps": 2,
                "target_update_interval": 200,
                "epsilon": "linear(1, 0.05, until=0.4)",
            },
        ),
        # -- train: four more ---------------------------------------------------------------------
        Setting(
            "balance-ppo",
            "train",
            "ppo",
            BALANCE,
            {
                "env_steps": 40_960,
                "n_envs": 8,
                "n_steps": 64,
                "batch_size": 64,
                "n_epochs": 6,
                "gamma": 0.98,
                "gae_lambda": 0.95,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
        Setting(
            "balance-a2c",
            "train",
            "a2c",
            BALANCE,
            {
                "env_steps": 60_000,
                "n_envs": 8,
                "n_steps": 20,
                "gamma": 0.98,
                "gae_lambda": 0.95,
                "learning_rate": "linear(2e-3, 0)",
                "log_std_init": -0.5,
            },
        ),
        Setting(
            "balance-sac",
            "train",
            "sac",
            BALANCE,
            {
                **SMALL_OFF,
                "env_steps": 6_000,
                "gamma": 0.98,
                "train_freq": 2,
            },
        ),
        Setting(
            "balance-dqn",
            "train",
            "dqn",
            BALANCE,
            {
                **VALUES,
                "env_kwargs": {"action": "discrete"},
                "env_steps": 16_000,
                "learning_rate": 0.001,
                "gamma": 0.98,
                "train_freq": 4,
                "gradient_steps": 2,
                "target_update_interval": 300,
                "epsilon": "linear(1, 0.05, until=0.3)",
            },
        ),
        Setting(
            "catch-ppo",
            "train",
            "ppo",
            CATCH,
            {
                "env_steps": 81_920,
                "n_envs": 8,
                "n_steps": 80,
                "batch_size": 80,
                "n_epochs": 8,
                "gamma": 0.98,
                "gae_lambda": 0.95,
                "learning_rate": "linear(2e-3, 0)",
                "ent_coef": 0.003,
            },
        ),
        Setting(
            "catch-dqn",
            "train",
            "dqn",
            CATCH,
            {
                **VALUES,
                "env_steps": 16_000,
                "learning_rate": 0.001,
                "gamma": 0.95,
                "train_freq": 4,
                "gradient_steps": 2,
                "target_update_interval": 200,
                "epsilon": "linear(1, 0.05, until=0.4)",
            },
        ),
        Setting(
            "swing-ppo",
            "train",
            "ppo",
            SWING,
            {
                "env_steps": 61_440,
                "n_envs": 8,
                "n_steps": 128,
                "batch_size": 128,
                "n_epochs": 6,
                "gamma": 0.99,
                "gae_lambda": 0.95,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
        Setting(
            "swing-a2c",
            "train",
            "a2c",
            SWING,
            {
                "env_steps": 80_000,
                "n_envs": 16,
                "n_steps": 16,
                "gamma": 0.99,
                "gae_lambda": 0.95,
                "learning_rate": "linear(2e-3, 0)",
            },
        ),
        Setting(
            "swing-dqn",
            "train",
            "dqn",
            SWING,
            {
                **VALUES,
                "env_steps": 24_000,
                "learning_rate": 0.0006,
                "gamma": 0.99,
                "train_freq": 4,
                "gradient_steps": 2,
                "target_update_interval": 250,
                "epsilon": "linear(1, 0.05, until=0.3)",
            },
        ),
        Setting(
            "guess-ppo",
            "train",
            "ppo",
            GUESS,
            {
                "env_steps": 20_480,
                "n_envs": 4,
                "n_steps": 64,
                "batch_size": 64,
                "n_epochs": 6,
                "gamma": 0.9,
                "learning_rate": 0.001,
                "net_arch": [32],
            },
        ),
        Setting(
            "guess-reinforce",
            "train",
            "reinforce",
            GUESS,
            {
                "env_steps": 40_960,
                "n_envs": 4,
                "n_steps": 50,
                "gamma": 0.5,
                "learning_rate": 0.005,
                "net_arch": [32],
            },
        ),
        Setting(
            "guess-td3",
            "train",
            "td3",
            GUESS,
            {
                **SMALL_OFF,
                "env_kwargs": BOX,
                "env_steps": 6_000,
                "gamma": 0.5,
                "train_freq": 2,
                "gradient_steps": 1,
                "noise_std": 0.2,
            },
        ),
        # -- test: other environments -----------------------------------------------------------
        Setting(
            "acrobot-ppo",
            "test",
            "ppo",
            "Acrobot-v1",
            {
                "env_steps": 98_304,
                "n_envs": 16,
                "n_steps": 128,
                "batch_size": 128,
                "n_epochs": 5,
                "gae_lambda": 0.94,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
        Setting(
            "acrobot-a2c",
            "test",
            "a2c",
            "Acrobot-v1",
            {"env_steps": 200_000, "n_envs": 16, "n_steps": 16, "learning_rate": 7e-4},
        ),
        Setting(
            "acrobot-dqn",
            "test",
            "dqn",
            "Acrobot-v1",
            {
                **VALUES,
                "env_steps": 30_000,
                "learning_rate": 6e-4,
                "train_freq": 4,
                "gradient_steps": 2,
                "target_update_interval": 250,
                "epsilon": "linear(1, 0.05, until=0.2)",
            },
        ),
        Setting(
            "cartpole-c51",
            "test",
            "c51",
            "CartPole-v1",
            {
                **VALUES,
                "env_steps": 20_000,
                "learning_rate": 1e-3,
                "gamma": 0.98,
                "n_step": 3,
                "train_freq": 8,
                "gradient_steps": 2,
                "target_update_interval": 400,
                "epsilon": "linear(1, 0.04, until=0.25)",
                "n_atoms": 31,
                "v_min": 0.0,
                "v_max": 100.0,
            },
        ),
        Setting(
            "inverted-pendulum-ppo",
            "test",
            "ppo",
            "InvertedPendulum-v5",
            {
                "env_steps": 24_576,
                "n_envs": 8,
                "n_steps": 64,
                "batch_size": 64,
                "n_epochs": 10,
                "learning_rate": "linear(1e-3, 0)",
                "log_std_init": -0.5,
                "normalize_obs": True,
            },
        ),
        Setting(
            "pointmass-sac",
            "test",
            "sac",
            POINT_MASS,
            {**SMALL_OFF, "env_steps": 6_000, "gamma": 0.95, "train_freq": 2},
        ),
        Setting(
            "pointmass-td3",
            "test",
            "td3",
            POINT_MASS,
            {**SMALL_OFF, "env_steps": 6_000, "gamma": 0.95, "train_freq": 2, "noise_std": 0.2},
        ),
        Setting(
            "pointmass-dqn",
            "test",
            "dqn",
            POINT_MASS,
            {
                **VALUES,
                "env_kwargs": {"action": "discrete"},
                "env_steps": 20_000,
                "learning_rate": 1e-3,
                "gamma": 0.95,
                "train_freq": 4,
                "gradient_steps": 1,
                "target_update_interval": 200,
                "epsilon": "linear(1, 0.05, until=0.3)",
            },
        ),
        Setting(
            "pointmass-a2c",
            "test",
            "a2c",
            POINT_MASS,
            {
                "env_steps": 50_000,
                "n_envs": 8,
                "n_steps": 20,
                "gamma": 0.95,
                "gae_lambda": 0.95,
                "learning_rate": "linear(2e-3, 0)",
                "log_std_init": -0.5,
            },
        ),
        Setting(
            "pointmass-ppo",
            "test",
            "ppo",
            POINT_MASS,
            {
                "env_steps": 40_960,
                "n_envs": 8,
                "n_steps": 128,
                "batch_size": 128,
                "n_epochs": 8,
                "gamma": 0.95,
                "gae_lambda": 0.95,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
        Setting(
            "pointmass-choices-ppo",
            "test",
            "ppo",
            POINT_MASS,
            {
                "env_kwargs": {"action": "discrete"},
                "env_steps": 40_960,
                "n_envs": 8,
                "n_steps": 64,
                "batch_size": 64,
                "n_epochs": 6,
                "gamma": 0.95,
                "gae_lambda": 0.9,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
        Setting(
            "identity-ppo",
            "test",
            "ppo",
            IDENTITY,
            {
                "env_steps": 8_192,
                "n_envs": 4,
                "n_steps": 32,
                "batch_size": 32,
                "n_epochs": 4,
                "learning_rate": 1e-3,
                "net_arch": [32],
            },
        ),
        Setting(
            "identity-reinforce",
            "test",
            "reinforce",
            IDENTITY,
            {
                "env_steps": 16_384,
                "n_envs": 4,
                "n_steps": 40,
                "learning_rate": 5e-3,
                "net_arch": [32],
            },
        ),
        Setting(
            "identity-dqn",
            "test",
            "dqn",
            IDENTITY,
            {
                **VALUES,
                "env_steps": 6_000,
                "learning_rate": 1e-3,
                "train_freq": 4,
                "gradient_steps": 2,
                "gamma": 0.9,
                "target_update_interval": 100,
                "epsilon": "linear(1, 0.05, until=0.3)",
                "net_arch": [32],
            },
        ),
        Setting(
            "identity-box-ddpg",
            "test",
            "ddpg",
            IDENTITY,
            {
                **SMALL_OFF,
                "env_kwargs": BOX,
                "env_steps": 6_000,
                "train_freq": 2,
                "gradient_steps": 1,
                "gamma": 0.9,
            },
        ),
        Setting(
            "lunarlander-ppo",
            "test",
            "ppo",
            "LunarLander-v3",
            {
                "env_steps": 163_840,
                "n_envs": 16,
                "n_steps": 256,
                "batch_size": 128,
                "n_epochs": 6,
                "gae_lambda": 0.98,
                "gamma": 0.995,
                "learning_rate": "linear(1e-3, 0)",
            },
        ),
    )
}
