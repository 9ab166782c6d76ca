"""Does `dressage train ENV`, as it is, solve its task? Presets over seeds, on held-out episodes.

    python benchmarks/solved.py run CartPole-v1 Pendulum-v1 --seeds 5     # resumes; one file a seed
    python benchmarks/solved.py table          # and writes into the presets what earned them

The policy judged is the one that `dressage.load` gives: the checkpoint with the best evaluation
during training. The 50 episodes are none of those evaluations'.
"""

from __future__ import annotations

import argparse
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
            "settings": {k: v for k, v in run.config.items() if run.sources[k] != "default"},
        }
    BENCHMARK.save(
        (env, algo, seed),
        result,
        packages=("dressage", "torch", "gymnasium", "numpy"),
        by=f"dressage train {env}:{algo} seed={seed}",
    )
    print(f"{env} {algo} {seed}: best {result['best']:.1f}, last {result['last']:.1f}", flush=True)


def jobs(given: argparse.Namespace) -> Iterator[Job]:
    for env in given.env:
        yield from ((env, given.algo, seed) for seed in range(given.seeds))


def table() -> str:
    """One row a task; the presets get the runs that earned them."""
    from dressage.math.summary import interquartile_mean, mean_interval

    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in BENCHMARK.load():
        found.setdefault((result["env"], result["algo"]), []).append(result)
    lines = [
        "| task | algorithm | env steps | seeds | threshold | solved | mean return [95 %] | IQM |",
        "|---|---|--:|--:|--:|--:|---|--:|",
    ]
    for (env, algo), results in sorted(found.items()):
        means = np.array([r["best"] for r in results])
        low, high = mean_interval(means)
        threshold = results[0]["threshold"]
        solved = sum(r["best"] >= threshold for r in results) if threshold is not None else "-"
        iqm = float(interquartile_mean(means))
        lines.append(
            f"| {env} | {algo} | {results[0]['env_steps']:,} | {len(results)} | {threshold} | "
            f"{solved} | {means.mean():.1f} [{low:.1f}, {high:.1f}] | {iqm:.1f} |"
        )
        earned = {
            "seeds": [r["seed"] for r in sorted(results, key=lambda r: r["seed"])],
            "date": max(r["date"] for r in results),
            "command": f"benchmarks/solved.py run {env} --algo {algo} --seeds {len(results)}",
            "returns": [round(r["best"], 1) for r in sorted(results, key=lambda r: r["seed"])],
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
