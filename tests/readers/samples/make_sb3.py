"""Makes the folders of Stable-Baselines3 beside this file; run with an interpreter that has it.

    build/venvs/sb3/bin/python tests/readers/samples/make_sb3.py

It also needs tensorboard. Everything is tiny: the files are read, never learned from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import gymnasium
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

HERE = Path(__file__).parent
PLANS = {
    "sb3_ppo": (
        PPO,
        "CartPole-v1",
        2,
        600,
        {"n_steps": 64, "batch_size": 32, "n_epochs": 2, "learning_rate": 1e-3},
    ),
    "sb3_dqn": (
        DQN,
        "CartPole-v1",
        1,
        400,
        {"learning_starts": 100, "target_update_interval": 50, "exploration_fraction": 0.5},
    ),
    "sb3_sac": (SAC, "Pendulum-v1", 1, 450, {"learning_starts": 100, "batch_size": 16}),
}


def monitored(env_id: str, file: Path) -> Callable[[], Monitor]:
    return lambda: Monitor(gymnasium.make(env_id), str(file))


for name, (make, env_id, n_envs, steps, settings) in PLANS.items():
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    envs = [monitored(env_id, folder / str(at)) for at in range(n_envs)]
    model = make(
        "MlpPolicy", DummyVecEnv(envs), seed=0, policy_kwargs={"net_arch": [4]}, **settings
    )
    model.set_logger(configure(str(folder), ["csv", "tensorboard"]))
    judge = EvalCallback(
        Monitor(gymnasium.make(env_id)),
        n_eval_episodes=2,
        eval_freq=100,
        log_path=str(folder),
        verbose=0,
    )
    model.learn(steps, callback=judge, log_interval=1)
    model.save(folder / "model")
