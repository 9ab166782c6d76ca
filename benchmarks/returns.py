"""What `dressage train ENV` reaches, as it is: presets over seeds, on held-out episodes.

    python benchmarks/returns.py run CartPole-v1 Pendulum-v1 --seeds 20   # resumes; one file a seed
    python benchmarks/returns.py table         # and writes into the presets what earned them

The policy judged is the one that `dressage.load` gives: the checkpoint with the best evaluation
during training. The 50 episodes are none of those evaluations'.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jobs import Benchmark, Job, slug

BENCHMARK = Benchmark(__file__, {"env": None, "algo": None})
PRESETS = Path(__file__).parents[1] / "src" / "dressage" / "presets"
EPISODES = 50
# Where Gymnasium names no threshold: RL-Zoo's published figure for PPO less ten percent.
THRESHOLDS = {"Pendulum-v1": -190.0}
# Mean returns that others publish, at how many env steps: RL-Zoo3's benchmark (one agent each), and
# Tianshou's (ten seeds, v3) where it is the higher.
PUBLISHED = {
    ("Acrobot-v1", "a2c"): (-83.4, 500_000, "RL-Zoo"),
    ("Acrobot-v1", "ppo"): (-73.5, 1_000_000, "RL-Zoo"),
    ("Ant-v5", "ppo"): (3258.0, 1_000_000, "Tianshou"),
    ("BipedalWalker-v3", "ppo"): (287.9, 5_000_000, "RL-Zoo"),
    ("Acrobot-v1", "c51"): (-87.7, 500_000, "CleanRL"),
    ("CartPole-v1", "c51"): (481.2, 500_000, "CleanRL"),
    ("CartPole-v1", "a2c"): (500.0, 500_000, "RL-Zoo"),
    ("CartPole-v1", "ppo"): (500.0, 100_000, "RL-Zoo"),
    ("CartPoleNoVel-v1", "ppo"): (500.0, 100_000, "RL-Zoo, recurrent"),
    ("HalfCheetah-v5", "ppo"): (5819.0, 1_000_000, "RL-Zoo"),
    ("Hopper-v5", "ppo"): (2609.0, 1_000_000, "Tianshou"),
    ("LunarLander-v3", "a2c"): (155.8, 200_000, "RL-Zoo"),
    ("LunarLander-v3", "ppo"): (242.1, 1_000_000, "RL-Zoo"),
    ("LunarLanderContinuous-v3", "ppo"): (270.9, 1_000_000, "RL-Zoo"),
    ("MiniGrid-DoorKey-5x5-v0", "ppo"): (0.964, 100_000, "RL-Zoo"),
    ("MountainCar-v0", "ppo"): (-110.4, 1_000_000, "RL-Zoo"),
    ("MountainCarContinuous-v0", "a2c"): (91.2, 100_000, "RL-Zoo"),
    ("MountainCarContinuous-v0", "ppo"): (88.3, 20_000, "RL-Zoo"),
    ("Pendulum-v1", "a2c"): (-163.0, 1_000_000, "RL-Zoo"),
    ("Pendulum-v1", "ppo"): (-172.2, 100_000, "RL-Zoo"),
    ("PendulumNoVel-v1", "ppo"): (-217.9, 100_000, "RL-Zoo, recurrent"),
    ("Walker2d-v5", "ppo"): (3589.0, 1_000_000, "Tianshou"),
}
PUBLISHED |= {
    (env, algo): (figure, env_steps, "RL-Zoo")
    for env, env_steps, figures in (
        ("CartPole-v1", 50_000, {"dqn": 500.0, "qr_dqn": 500.0}),
        ("Acrobot-v1", 100_000, {"dqn": -76.6, "qr_dqn": -69.1}),
        ("MountainCar-v0", 120_000, {"dqn": -100.8, "qr_dqn": -106.0}),
        ("LunarLander-v3", 100_000, {"dqn": 154.4, "qr_dqn": 70.2}),
        ("Pendulum-v1", 20_000, {"sac": -157.0, "td3": -151.9, "ddpg": -152.1, "tqc": -151.3}),
        ("MountainCarContinuous-v0", 50_000, {"sac": 94.7, "tqc": 63.6}),
        ("MountainCarContinuous-v0", 300_000, {"td3": 93.5, "ddpg": 93.5}),
        ("LunarLanderContinuous-v3", 500_000, {"sac": 260.4, "tqc": 278.0}),
        ("LunarLanderContinuous-v3", 300_000, {"td3": 207.5, "ddpg": 230.2}),
        ("BipedalWalker-v3", 500_000, {"sac": 297.7, "tqc": 329.8}),
        ("BipedalWalker-v3", 1_000_000, {"td3": 306.0, "ddpg": 197.5}),
    )
    for algo, figure in figures.items()
}
# Nobody publishes Rainbow on these: it is to reach what DQN does.
PUBLISHED |= {
    (env, "rainbow"): (figure, env_steps, "RL-Zoo, DQN")
    for (env, algo), (figure, env_steps, _) in PUBLISHED.items()
    if algo == "dqn"
}
PUBLISHED |= {
    (env, algo): (figure, 1_000_000, who)
    for env, figures in {
        "HalfCheetah-v5": {
            "sac": (12139.0, "Tianshou"),
            "td3": (10201.0, "Tianshou"),
            "tqc": (12090.0, "RL-Zoo"),
        },
        "Hopper-v5": {
            "sac": (3542.0, "Tianshou"),
            "td3": (3606.0, "RL-Zoo"),
            "tqc": (3754.0, "RL-Zoo"),
        },
        "Walker2d-v5": {
            "sac": (5007.0, "Tianshou"),
            "td3": (4718.0, "RL-Zoo"),
            "tqc": (4381.0, "RL-Zoo"),
        },
    }.items()
    for algo, (figure, who) in figures.items()
}


def one(env: str, algo: str, seed: int) -> None:
    import dressage

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = dressage.train(env, algo=algo, seed=seed, runs=folder)
        seconds = time.perf_counter() - began
        if run.status != "finished":
            raise SystemExit(f"{env} {algo} {seed} was stopped: no result")
        best = dressage.evaluate(run, episodes=EPISODES)
        last = dressage.evaluate(f"{run.path}@last", episodes=EPISODES)
        result = {
            "env": env,
            "algo": algo,
            "seed": seed,
            "env_steps": run.config["env_steps"],
            "best": best["mean"],
            "best_env_steps": best["env_steps"],
            "last": last["mean"],
            "threshold": THRESHOLDS.get(env, best["threshold"]),
            "seconds": round(seconds, 1),
            "settings": settings_of(env, algo),
            "engine": run.system["engine"],
        }
    BENCHMARK.save(
        (env, algo, seed),
        result,
        packages=("dressage", "torch", "gymnasium", "numpy"),
        by=f"dressage train {env}:{algo} seed={seed}",
    )
    print(f"{env} {algo} {seed}: best {result['best']:.1f}, last {result['last']:.1f}", flush=True)


def settings_of(env: str, algo: str) -> dict[str, Any]:
    """What the preset sets."""
    from dressage.presets.resolve import resolve

    resolved = resolve(env, algo)
    return {k: v for k, v in resolved.values().items() if resolved.sources[k] == "preset"}


def jobs(given: argparse.Namespace) -> Iterator[Job]:
    for env in given.env:
        now = settings_of(env, given.algo)
        for seed in range(given.seeds):
            file = BENCHMARK.file(env, given.algo, seed)
            if file.exists() and json.loads(file.read_text())["settings"] != now:
                file.unlink()  # of a preset that has changed since
            yield env, given.algo, seed


def number(value: float) -> str:
    """One digit after the point, three where returns are below ten (MiniGrid's are below one)."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def table() -> str:
    """One row a task; the presets get the runs that earned them."""
    from dressage.math.summary import bootstrap_interval, interquartile_mean

    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in BENCHMARK.load():
        found.setdefault((result["env"], result["algo"]), []).append(result)
    lines = [
        "| task | algorithm | env steps | seeds | IQM [95 %] | mean | solved | published |",
        "|---|---|--:|--:|---|--:|--:|---|",
    ]
    for (env, algo), results in sorted(found.items()):
        means = np.array([r["best"] for r in results])
        iqm = float(interquartile_mean(means))
        interval = "-"
        if len(means) > 1:  # a generator for each: no row depends on which others there are
            generator = np.random.default_rng(0)
            low, high = bootstrap_interval(means, interquartile_mean, generator)
            interval = f"{number(low)}, {number(high)}"
        threshold = results[0]["threshold"]
        solved = "-"
        if threshold is not None:
            solved = f"{sum(r['best'] >= threshold for r in results)} ({threshold:g})"
        published = "-"
        if (env, algo) in PUBLISHED:
            figure, env_steps, who = PUBLISHED[env, algo]
            published = f"{figure:g} at {env_steps:,}, {who}"
        lines.append(
            f"| {env} | {algo} | {results[0]['env_steps']:,} | {len(results)} | "
            f"{number(iqm)} [{interval}] | {number(means.mean())} | {solved} | {published} |"
        )
        earned = {
            "seeds": [r["seed"] for r in sorted(results, key=lambda r: r["seed"])],
            "date": max(r["date"] for r in results),
            "command": f"benchmarks/returns.py run {env} --algo {algo} --seeds {len(results)}",
            "returns": [float(number(r["best"])) for r in sorted(results, key=lambda r: r["seed"])],
        }
        preset = PRESETS / algo / f"{slug(env)}.yaml"
        head = preset.read_text().partition("earned:")[0]
        preset.write_text(head + yaml.safe_dump({"earned": earned}, sort_keys=False, width=100))
    return "\n".join(lines)


def asked(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("env", nargs="+")
    parser.add_argument("--algo", default="ppo")


if __name__ == "__main__":
    BENCHMARK.main(__doc__, asked=asked, jobs=jobs, one=one, table=table, seeds=5)
