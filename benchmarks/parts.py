"""What a part is good for: each way of exploring, remembering or learning beside going without it,
on a task that needs it.

    python benchmarks/parts.py run --task corridor --seeds 10   # resumes; one file a run
    python benchmarks/parts.py table       # and draws docs/assets/overestimation.svg

What is compared: the mean return of the final policy over held-out episodes, as it acts without
exploring; the mean training return over the whole run, which tells how fast it came; and, of action
values, the mean prediction in the last fifth of the run. Results lie in benchmarks/results/parts/.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jobs import Benchmark, Job

BENCHMARK = Benchmark(__file__, {"task": None, "way": None})
POINTS = 50  # of the curves that are kept

# task -> what all ways have in common, and what each way adds
TASKS: dict[str, dict[str, Any]] = {
    "corridor": {
        "env": "dressage.envs.toys:Corridor",
        "algo": "ppo",
        "settings": {
            "env_steps": 61_440,
            "n_envs": 8,
            "n_steps": 32,
            "batch_size": 64,
            "n_epochs": 4,
            "learning_rate": "linear(3e-3, 0)",
            "ent_coef": 0.01,
            "normalize_advantage": "off",  # it would make much of nothing, and drift
            "net_arch": [64],
        },
        "ways": {
            "none": {},
            "rnd": {"bonus": "rnd", "bonus_coef": 0.3},
            "icm": {"bonus": "icm", "bonus_coef": 0.1},
            "counts": {"bonus": "counts", "bonus_coef": 0.3},
        },
    },
    "corridor-values": {
        "env": "dressage.envs.toys:Corridor",
        "algo": "dqn",
        "settings": {
            "env_kwargs": {"length": 30},
            "env_steps": 20_000,
            "n_envs": 4,
            "gradient_steps": 8,
            "learning_rate": "linear(3e-3, 0)",
            "batch_size": 64,
            "net_arch": [64],
            "target_update_interval": 100,
            "learning_starts": 200,
            "buffer_size": 20_000,
        },
        "ways": {
            "epsilon-greedy": {},
            "head-an-episode": {"algo": "bootstrapped_dqn"},
            "heads-ucb": {"algo": "bootstrapped_dqn", "explore": "ucb"},
        },
    },
    "corridor-short": {
        "env": "dressage.envs.toys:Corridor",
        "algo": "dqn",
        "settings": {
            "env_kwargs": {"length": 12},
            "env_steps": 10_000,
            "n_envs": 1,
            "train_freq": 1,
            "learning_rate": 1e-3,
            "batch_size": 64,
            "net_arch": [64],
            "target_update_interval": 100,
            "learning_starts": 64,
            "buffer_size": 10_000,
            "epsilon": 0.0,
        },
        "ways": {
            "none": {},
            "epsilon-greedy": {"epsilon": "linear(1, 0.05, until=0.5)"},
            "boltzmann": {"temperature": "linear(1, 0.02, until=0.5)"},
            "noisy": {"noisy": True},
        },
    },
    "hill": {
        "env": "MountainCarContinuous-v0",
        "algo": "td3",
        "settings": {
            "env_steps": 100_000,
            "train_freq": 2,
            "gradient_steps": 1,
            "net_arch": [64, 64],
            "action_noise": "none",
            "eval_episodes": 20,
        },
        "ways": {
            "none": {},
            "normal": {"action_noise": "normal", "noise_std": 0.5},
            "ornstein-uhlenbeck": {"action_noise": "ou", "noise_std": 0.5},
        },
    },
    "valve": {
        "env": "dressage.envs.toys:Valve",
        "algo": "td3",
        "settings": {
            "env_steps": 12_000,
            "train_freq": 2,
            "gradient_steps": 1,
            "learning_starts": 300,
            "batch_size": 64,
            "gamma": 0.98,
            "n_step": 5,
            "learning_rate": 1e-3,
            "net_arch": [64, 64],
            "layer_norm": True,
            "action_noise": "none",
            "eval_episodes": 20,
        },
        "ways": {
            "none": {},
            "normal": {"action_noise": "normal", "noise_std": 0.5},
            "parameters": {"parameter_noise": 0.5},
        },
    },
    "hill-entropy": {  # RL-Zoo3's settings of SAC on this task, with its gSDE and without
        "env": "MountainCarContinuous-v0",
        "algo": "sac",
        "settings": {
            "env_steps": 50_000,
            "learning_starts": 0,
            "learning_rate": 3e-4,
            "batch_size": 512,
            "buffer_size": 50_000,
            "train_freq": 32,
            "gradient_steps": 32,
            "gamma": 0.9999,
            "tau": 0.01,
            "ent_coef": 0.1,
            "net_arch": [64, 64],
            "eval_episodes": 20,
        },
        "ways": {"none": {}, "gsde": {"use_sde": True, "log_std_init": -3.67}},
    },
    "bitflip-12": {
        "env": "dressage.envs.goals:BitFlip",
        "algo": "dqn",
        "settings": {
            "env_kwargs": {"bits": 12},
            "env_steps": 6_000,
            "n_envs": 4,
            "gradient_steps": 8,
            "learning_rate": 1e-3,
            "batch_size": 128,
            "net_arch": [128],
            "target_update_interval": 200,
            "learning_starts": 500,
            "buffer_size": 20_000,
            "gamma": 0.98,
            "epsilon": "linear(0.5, 0.05, until=0.5)",
        },
        "ways": {
            "none": {},
            "future": {"her": "future"},
            "final": {"her": "final"},
            "episode": {"her": "episode"},
        },
    },
    "reach": {
        "env": "dressage.envs.goals:Reach",
        "algo": "sac",
        "settings": {
            "env_steps": 8_000,
            "n_envs": 4,
            "train_freq": 4,
            "gradient_steps": 8,
            "learning_rate": 1e-3,
            "batch_size": 128,
            "net_arch": [64, 64],
            "learning_starts": 500,
            "buffer_size": 20_000,
            "gamma": 0.95,
        },
        "ways": {"none": {}, "future": {"her": "future"}},
    },
    "rainbow-parts": {
        "env": "CartPole-v1",
        "algo": "rainbow",
        "settings": {
            "env_steps": 20_000,
            "learning_rate": 1e-3,
            "batch_size": 64,
            "buffer_size": 20_000,
            "learning_starts": 500,
            "target_update_interval": 250,
            "train_freq": 4,
            "gradient_steps": 2,
            "net_arch": [64, 64],
            "v_min": 0,
            "v_max": 100,
            "eval_episodes": 20,
        },
        "ways": {
            "all": {},
            "without-double": {"double": False},
            "without-dueling": {"dueling": False},
            "without-noisy": {"noisy": False, "epsilon": "linear(1, 0.05, until=0.2)"},
            "without-n-step": {"n_step": 1},
            "without-priorities": {"prioritized": False},
            "without-distribution": {
                "algo": "dqn",
                "double": True,
                "dueling": True,
                "noisy": True,
                "epsilon": 0.0,
                "n_step": 3,
                "prioritized": True,
                "v_min": None,
                "v_max": None,
            },
        },
    },
    "no-velocities": {
        "env": "CartPoleNoVel-v1",
        "algo": "dqn",
        "settings": {
            "env_steps": 40_000,
            "learning_rate": 1e-3,
            "batch_size": 64,
            "buffer_size": 40_000,
            "learning_starts": 1000,
            "target_update_interval": 500,
            "train_freq": 4,
            "gradient_steps": 1,
            "net_arch": [64],
            "epsilon": "linear(1, 0.05, until=0.25)",
            "eval_episodes": 20,
        },
        "ways": {"dqn": {}, "drqn": {"algo": "drqn", "batch_size": 16}},
    },
    "overestimation": {
        "env": "dressage.envs.toys:Roulette",
        "algo": "dqn",
        "settings": {
            "env_steps": 20_000,
            "n_envs": 4,
            "gradient_steps": 4,
            "gamma": 0.95,
            "learning_rate": 1e-2,
            "batch_size": 32,
            "net_arch": [32],
            "target_update_interval": 500,
            "learning_starts": 500,
            "buffer_size": 30_000,
            "epsilon": 1.0,
            "eval_episodes": 20,
        },
        "ways": {"dqn": {"double": False}, "double": {"double": True}},
    },
}
PICTURE = Path(__file__).parents[1] / "docs" / "assets" / "overestimation.svg"


def one(task: str, way: str, seed: int) -> None:
    import dressage

    setting = TASKS[task]
    asked = {"algo": setting["algo"], **setting["settings"], **setting["ways"][way]}
    settings = {name: value for name, value in asked.items() if value is not None}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = dressage.train(
            setting["env"],
            preset=False,
            runs=folder,
            seed=seed,
            backend="inline",
            eval_every=0,
            **settings,
        )
        seconds = time.perf_counter() - began
        if run.status != "finished":
            raise SystemExit("the run was stopped: no result")
        metrics = run.metrics()
    result = {
        "task": task,
        "way": way,
        "seed": seed,
        "return": round(float(metrics["val/roll/ep_rew_mean"][-1]), 4),
        "area": round(float(np.nanmean(metrics["train/roll/ep_rew_mean"])), 4),
        "seconds": round(seconds, 1),
    }
    if "train/metrics/q_mean" in metrics:
        known = np.isfinite(metrics["train/metrics/q_mean"])  # from learning_starts on
        blocks = np.array_split(np.flatnonzero(known), POINTS)
        result["env_steps"] = [float(metrics["env_steps"][block[-1]]) for block in blocks]
        result["q_mean"] = [
            round(float(metrics["train/metrics/q_mean"][block].mean()), 4) for block in blocks
        ]
    if "val/roll/success_rate" in metrics:
        result["success"] = float(metrics["val/roll/success_rate"][-1])
    BENCHMARK.save(
        (task, way, seed),
        result,
        packages=("dressage", "torch", "gymnasium", "numpy"),
        by=f"python benchmarks/parts.py one {task} {way} {seed}",
    )
    print(f"{task} {way} {seed}: {result['return']:.2f} in {seconds:.0f} s", flush=True)


def jobs(given: argparse.Namespace) -> Iterator[Job]:
    """Seed by seed, all ways of a task in turn."""
    for task in given.task or TASKS:
        for seed in range(given.seeds):
            yield from ((task, way, seed) for way in TASKS[task]["ways"])


def table() -> str:
    """IQM over seeds with 95 % intervals."""
    from dressage.math.summary import bootstrap_interval, interquartile_mean

    def cell(values: list[float]) -> str:
        known = np.array(values)
        generator = np.random.default_rng(0)  # for each: no cell depends on which others there are
        low, high = bootstrap_interval(known, interquartile_mean, generator)
        return f"{float(interquartile_mean(known)):.2f} [{low:.2f}, {high:.2f}]"

    lines = [
        "| task | algorithm | env steps | way | seeds | return, IQM [95 %] | success | "
        "over the run | action values late |",
        "|---|---|--:|---|--:|---|--:|---|---|",
    ]
    results = BENCHMARK.load()
    for task, setting in TASKS.items():
        for way, added in setting["ways"].items():
            runs = [r for r in results if (r["task"], r["way"]) == (task, way)]
            if not runs:
                continue
            success = area = values = "-"
            if "success" in runs[0]:
                success = f"{np.mean([r['success'] for r in runs]):.2f}"
            if all("area" in r for r in runs):
                area = cell([r["area"] for r in runs])
            if all("q_mean" in r for r in runs):
                values = cell([float(np.mean(r["q_mean"][-POINTS // 5 :])) for r in runs])
            algo, budget = added.get("algo", setting["algo"]), setting["settings"]["env_steps"]
            lines.append(
                f"| {task} | {algo} | {budget:,} | {way} | {len(runs)} | "
                f"{cell([r['return'] for r in runs])} | {success} | {area} | {values} |"
            )
    draw([r for r in results if r["task"] == "overestimation"])
    return "\n".join(lines)


def draw(results: list[dict[str, Any]]) -> None:
    """Predicted action values over training, DQN's and double DQN's, beside the true one."""
    from dressage.reporting.document import Chart, Series
    from dressage.reporting.group import mean_series
    from dressage.reporting.picture import picture

    series: list[Series] = []
    for color, (way, name) in enumerate((("dqn", "DQN"), ("double", "double DQN"))):
        runs = [r for r in results if r["way"] == way]
        if not runs:
            return
        rows = np.array([r["q_mean"] for r in runs])
        grid = np.array(runs[0]["env_steps"])
        label = f"{name}, mean over {len(runs)} seeds, 95 % interval"
        series.append(mean_series(grid, rows, label, color))
    chart = Chart(
        title="Mean predicted action value on roulette",
        series=series,
        robust=False,
        level=(0.0, "no action is worth more than this"),
    )
    PICTURE.write_text(picture(chart))


def asked(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", action="append", choices=list(TASKS))


if __name__ == "__main__":
    BENCHMARK.main(__doc__, asked=asked, jobs=jobs, one=one, table=table, seeds=10)
