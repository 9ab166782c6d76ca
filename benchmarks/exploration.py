"""Exploration and goals: each way beside none, on a task that needs it.

    python benchmarks/exploration.py run --task corridor --seeds 10   # resumes; one file a run
    python benchmarks/exploration.py table

What is compared: the mean return of the final policy over 20 held-out episodes, as it acts without
exploring. Results lie in benchmarks/results/exploration/, one JSON file a run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from jobs import Benchmark, Job

BENCHMARK = Benchmark(__file__, {"task": None, "way": None})

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
}


def one(task: str, way: str, seed: int) -> None:
    import dressage

    setting = TASKS[task]
    settings = {"algo": setting["algo"], **setting["settings"], **setting["ways"][way]}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = dressage.train(
            setting["env"],
            preset=False,
            runs=folder,
            seed=seed,
            backend="inline",
            engine="torch",
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
        "seconds": round(seconds, 1),
    }
    if "val/roll/success_rate" in metrics:
        result["success"] = float(metrics["val/roll/success_rate"][-1])
    BENCHMARK.save(
        (task, way, seed),
        result,
        packages=("dressage", "torch", "gymnasium", "numpy"),
        by=f"python benchmarks/exploration.py one {task} {way} {seed}",
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

    lines = [
        "| task | algorithm | env steps | way | seeds | IQM of the return [95 %] | success |",
        "|---|---|--:|---|--:|---|--:|",
    ]
    results, generator = BENCHMARK.load(), np.random.default_rng(0)
    for task, setting in TASKS.items():
        for way, added in setting["ways"].items():
            runs = [r for r in results if (r["task"], r["way"]) == (task, way)]
            if not runs:
                continue
            returns = np.array([r["return"] for r in runs])
            low, high = bootstrap_interval(returns, interquartile_mean, generator)
            success = "-"
            if "success" in runs[0]:
                success = f"{np.mean([r['success'] for r in runs]):.2f}"
            algo, budget = added.get("algo", setting["algo"]), setting["settings"]["env_steps"]
            lines.append(
                f"| {task} | {algo} | {budget:,} | {way} | "
                f"{len(runs)} | {float(interquartile_mean(returns)):.2f} [{low:.2f}, {high:.2f}] | "
                f"{success} |"
            )
    return "\n".join(lines)


def asked(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", action="append", choices=list(TASKS))


if __name__ == "__main__":
    BENCHMARK.main(__doc__, asked=asked, jobs=jobs, one=one, table=table, seeds=10)
