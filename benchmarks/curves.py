"""Learning curves beside a reference: the same task and settings with dressage and with SB3.

    python benchmarks/curves.py run --setting cartpole --seeds 10     # resumes; one file a run
    python benchmarks/curves.py table                                 # summary and picture

Each run is a process of its own, two at a time, ours and theirs in turn. What is compared: the
mean return of training episodes at the same env steps, and the final policy's on 50 held-out
episodes, the same for both. Results lie in benchmarks/results/curves/, one JSON file a run.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jobs import Benchmark, Job

SIDES = ("dressage", "sb3")
BENCHMARK = Benchmark(__file__, {"setting": None, "side": SIDES})
SB3_NAMES = {
    "ppo": "PPO",
    "a2c": "A2C",
    "sac": "SAC",
    "td3": "TD3",
    "ddpg": "DDPG",
    "tqc": "TQC",
    "crossq": "CrossQ",
    "dqn": "DQN",
    "qr_dqn": "QRDQN",
}
POINTS = 20  # of a stored curve, evenly spaced over the budget
HELD_OUT_EPISODES = 50

# name -> env, what both sides get, and what only SB3's vocabulary says otherwise
SETTINGS: dict[str, dict[str, Any]] = {
    "cartpole": {
        "env": "CartPole-v1",
        "env_steps": 100_000,
        "n_envs": 8,
        "settings": {
            "n_steps": 32,
            "batch_size": 256,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "learning_rate": "linear(1e-3, 0)",
            "clip_range": "linear(0.2, 0)",
        },
    },
    "pendulum": {
        "env": "Pendulum-v1",
        "env_steps": 100_000,
        "n_envs": 4,
        "settings": {
            "n_steps": 1024,
            "batch_size": 64,
            "n_epochs": 10,
            "gamma": 0.9,
            "gae_lambda": 0.95,
            "learning_rate": 1e-3,
            "use_sde": True,
            "sde_sample_freq": 4,
        },
        "ours": {"scale_actions": False},  # SB3's PPO acts in the environment's units
    },
    "halfcheetah": {
        "env": "HalfCheetah-v5",
        "env_steps": 200_000,
        "n_envs": 8,
        "settings": {
            "n_steps": 256,
            "batch_size": 256,
            "n_epochs": 10,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "learning_rate": 3e-4,
        },
        "normalize": True,
    },
    "acrobot-a2c": {
        "env": "Acrobot-v1",
        "algo": "a2c",
        "env_steps": 200_000,
        "n_envs": 16,
        "settings": {},
        "ours": {"optimizer": "rmsprop"},  # what SB3 has by default
        "normalize": True,
    },
    "cartpole-a2c": {
        "env": "CartPole-v1",
        "algo": "a2c",
        "env_steps": 200_000,
        "n_envs": 8,
        "settings": {},
        "ours": {"optimizer": "rmsprop"},
    },
    "cartpole-novel-lstm": {
        "env": "CartPole-v1",
        "algo": "ppo",
        "recurrent": True,
        "env_steps": 100_000,
        "n_envs": 8,
        "wrappers": ["mask_velocity"],
        "settings": {
            "n_steps": 32,
            "batch_size": 256,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "learning_rate": "linear(1e-3, 0)",
            "clip_range": "linear(0.2, 0)",
        },
        "ours": {"recurrent": "lstm", "hidden_size": 64, "sequence_length": 32},
        "theirs": {"policy_kwargs": {"lstm_hidden_size": 64}},
    },
}

# Off-policy on Pendulum: the networks and rates of both sides are the same, and so is the noise.
OFF_POLICY: dict[str, Any] = {
    "env": "Pendulum-v1",
    "env_steps": 6_000,
    "n_envs": 1,
    "ours": {"engine": "torch", "net_arch": [256, 256]},
    "theirs": {"policy_kwargs": {"net_arch": [256, 256]}},
}
PENDULUM = {"learning_rate": 1e-3, "learning_starts": 500, "buffer_size": 20_000}
for algo in ("sac", "td3", "ddpg", "tqc", "crossq"):
    noise = {"noise_std": 0.1} if algo in ("td3", "ddpg") else {}
    SETTINGS[f"pendulum-{algo}"] = {**OFF_POLICY, "algo": algo, "settings": PENDULUM | noise}


# RL-Zoo3's settings of CartPole-v1, the same for both
VALUES: dict[str, Any] = {
    "env": "CartPole-v1",
    "env_steps": 50_000,
    "n_envs": 1,
    "settings": {
        "learning_rate": 2.3e-3,
        "batch_size": 64,
        "buffer_size": 100_000,
        "learning_starts": 1000,
        "gamma": 0.99,
        "target_update_interval": 10,
        "train_freq": 256,
        "gradient_steps": 128,
    },
    "ours": {
        "engine": "torch",
        "net_arch": [256, 256],
        "epsilon": "linear(1, 0.04, until=0.16)",
        "double": False,
    },
    "theirs": {
        "policy_kwargs": {"net_arch": [256, 256]},
        "exploration_fraction": 0.16,
        "exploration_final_eps": 0.04,
    },
}
SETTINGS["cartpole-dqn"] = VALUES | {"algo": "dqn"}
SETTINGS["cartpole-qr_dqn"] = VALUES | {
    "algo": "qr_dqn",
    "ours": VALUES["ours"] | {"n_quantiles": 10, "optimizer_eps": 0.01 / 64},
    "theirs": VALUES["theirs"] | {"policy_kwargs": {"net_arch": [256, 256], "n_quantiles": 10}},
}


def train_ours(setting: dict[str, Any], seed: int, folder: str) -> dict[str, Any]:
    import dressage

    normalize = setting.get("normalize", False)
    began = time.perf_counter()
    run = dressage.train(
        setting["env"],
        algo=setting.get("algo", "ppo"),
        preset=False,
        runs=folder,
        seed=seed,
        env_steps=setting["env_steps"],
        n_envs=setting["n_envs"],
        wrappers=setting.get("wrappers", []),
        normalize_obs=normalize,
        normalize_reward=normalize,
        eval_every=0,
        final_eval_episodes=0,
        **setting["settings"],
        **setting.get("ours", {}),
    )
    seconds = time.perf_counter() - began
    if run.status != "finished":
        raise SystemExit("the run was stopped: no result")
    metrics = run.metrics(["env_steps", "train/roll/ep_rew_mean"])
    policy = dressage.load(f"{run.path}@last")
    return {
        "curve": on_grid(metrics["env_steps"], metrics["train/roll/ep_rew_mean"], setting),
        "held_out": held_out(setting, policy.predict),
        "seconds": seconds,
    }


def train_sb3(setting: dict[str, Any], seed: int, folder: str) -> dict[str, Any]:
    import sb3_contrib
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)
    recurrent = setting.get("recurrent", False)
    maker: Any = setting["env"]
    if setting.get("wrappers"):
        from dressage.envs.make import EnvRecipe

        recipe = EnvRecipe(setting["env"], wrappers=tuple(setting["wrappers"]))
        maker = lambda: recipe()  # noqa: E731
    env = make_vec_env(maker, n_envs=setting["n_envs"], seed=seed)
    settings = {key: sb3_value(value) for key, value in setting["settings"].items()}
    if setting.get("normalize"):
        env = VecNormalize(env, gamma=settings.get("gamma", 0.99))
    if "noise_std" in settings:
        from stable_baselines3.common.noise import NormalActionNoise

        zero = np.zeros(env.action_space.shape)
        settings["action_noise"] = NormalActionNoise(zero, zero + settings.pop("noise_std"))
    name = "RecurrentPPO" if recurrent else SB3_NAMES[setting.get("algo", "ppo")]
    kind = getattr(sb3_contrib if hasattr(sb3_contrib, name) else stable_baselines3, name)
    policy = "MlpLstmPolicy" if recurrent else "MlpPolicy"
    model = kind(policy, env, seed=seed, device="cpu", **settings, **setting.get("theirs", {}))
    model.set_logger(configure(folder, ["csv"]))
    began = time.perf_counter()
    model.learn(setting["env_steps"], log_interval=1)
    seconds = time.perf_counter() - began
    with (Path(folder) / "progress.csv").open() as file:
        rows = list(csv.DictReader(file))
    steps = np.array([float(row["time/total_timesteps"]) for row in rows])
    returns = np.array([float(row["rollout/ep_rew_mean"] or "nan") for row in rows])
    statistics = env if isinstance(env, VecNormalize) else None

    def choose(obs: Any, state: Any) -> tuple[Any, Any]:
        if statistics is not None:
            obs = statistics.normalize_obs(obs)
        begins = np.array([state is None])
        return model.predict(obs, state, episode_start=begins, deterministic=True)

    return {
        "curve": on_grid(steps, returns, setting),
        "held_out": held_out(setting, choose),
        "seconds": seconds,
    }


def held_out(setting: dict[str, Any], choose: Any) -> float:
    """Mean return of the deterministic policy on the same episodes for both sides."""
    from dressage.envs.make import EnvRecipe

    env = EnvRecipe(setting["env"], wrappers=tuple(setting.get("wrappers", ())))()
    total = 0.0
    for episode in range(HELD_OUT_EPISODES):
        obs, _ = env.reset(seed=10_000 + episode)
        state, over = None, False
        while not over:
            action, state = choose(obs, state)
            obs, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            over = terminated or truncated
    env.close()
    return total / HELD_OUT_EPISODES


def sb3_value(value: Any) -> Any:
    """A schedule in SB3's form: a function of the progress that remains."""
    if isinstance(value, str):
        from dressage.math.schedules import parse_schedule

        schedule: Any = parse_schedule(value)
        return lambda remaining: schedule(1.0 - remaining)
    return value


def on_grid(steps: Any, returns: Any, setting: dict[str, Any]) -> list[float | None]:
    """The newest value at or before each of POINTS evenly spaced moments."""
    grid = np.linspace(0, setting["env_steps"], POINTS + 1)[1:]
    known = ~np.isnan(returns)
    steps, returns = np.asarray(steps)[known], np.asarray(returns)[known]
    at = np.searchsorted(steps, grid, side="right") - 1
    return [None if i < 0 else round(float(returns[i]), 3) for i in at]


def one(name: str, side: str, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        train = train_ours if side == "dressage" else train_sb3
        result = train(SETTINGS[name], seed, folder)
    result |= {"setting": name, "side": side, "seed": seed}
    BENCHMARK.save(
        (name, side, seed),
        result,
        packages=("dressage", "stable-baselines3", "sb3-contrib", "torch", "gymnasium", "numpy"),
        by=f"python benchmarks/curves.py one {name} {side} {seed}",
    )
    print(
        f"{name} {side} {seed}: {result['held_out']:.1f} in {result['seconds']:.0f} s", flush=True
    )


def jobs(given: argparse.Namespace) -> Iterator[Job]:
    """Ours and theirs in turn."""
    for name in given.setting or SETTINGS:
        for seed in range(given.seeds):
            yield from ((name, side, seed) for side in SIDES)


def table() -> str:
    """Final return and area under the curve of both sides, mean over seeds with 95 % intervals."""
    from dressage.math.summary import mean_interval

    lines = [
        "| setting | side | seeds | held-out return | training return at the end "
        "| area under the curve | verdict |",
        "|---|---|--:|---|---|---|---|",
    ]
    results = BENCHMARK.load()
    for name in SETTINGS:
        cells: dict[str, dict[str, tuple[float, float, float]]] = {}
        for side in SIDES:
            runs = [r for r in results if (r["setting"], r["side"]) == (name, side)]
            if not runs:
                continue
            curves = np.array([[np.nan if v is None else v for v in r["curve"]] for r in runs])
            values = {
                "held-out": np.array([r["held_out"] for r in runs]),
                "end": curves[:, -1],
                "area": np.nanmean(curves, axis=1),
            }
            cells[side] = {k: (float(v.mean()), *mean_interval(v)) for k, v in values.items()}
            row = " | ".join(f"{m:.1f} [{a:.1f}, {b:.1f}]" for m, a, b in cells[side].values())
            verdict = ""
            if side == "sb3" and "dressage" in cells:
                # ours is judged by the reference's own interval over seeds
                good = all(cells["dressage"][k][0] >= cells["sb3"][k][1] for k in cells["sb3"])
                verdict = "within its interval or better" if good else "below its interval"
            lines.append(f"| {name} | {side} | {len(runs)} | {row} | {verdict} |")
    return "\n".join(lines)


def asked(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--setting", action="append", choices=list(SETTINGS))


if __name__ == "__main__":
    BENCHMARK.main(__doc__, asked=asked, jobs=jobs, one=one, table=table, seeds=10)
