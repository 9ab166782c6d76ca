"""Does `dressage optimize` mend a run? Four faulty runs, each beside its healthy twin.

    python -m benchmarks.optimize run [--only CASE…]   # resumes; one file a case
    python -m benchmarks.optimize table

A faulty run is trained as a person would have, and `dressage optimize` is typed with so many
minutes. What it ends at is then trained on eight fresh seeds, and so are the run's settings without
the fault: the healthy reference. It is reached where the difference of the final returns, with its
interval, is not below zero.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.jobs import Benchmark

BENCHMARK = Benchmark(__file__, {"case": None})
RUNS = Path("build/optimize")
SEEDS = range(70_000, 70_008)  # neither optimize nor its proofs use them


@dataclass(frozen=True)
class Case:
    env: str
    algo: str
    minutes: int
    healthy: dict[str, Any]
    fault: dict[str, Any]
    sb3: bool = False


CASES = {
    "cartpole-ppo-rate": Case("CartPole-v1", "ppo", 5, {}, {"learning_rate": 0.05}),
    "acrobot-dqn-target": Case(
        "Acrobot-v1",
        "dqn",
        5,
        {
            "env_steps": 30_000,
            "learning_rate": 6e-4,
            "net_arch": [64, 64],
            "batch_size": 64,
            "learning_starts": 500,
            "train_freq": 4,
            "gradient_steps": 2,
            "target_update_interval": 250,
            "epsilon": "linear(1, 0.05, until=0.2)",
        },
        {"target_update_interval": 15_000},
    ),
    "sb3-ppo-entropy": Case(
        "CartPole-v1", "ppo", 15, {"env_steps": 40_960}, {"ent_coef": 0.5}, sb3=True
    ),
    "pendulum-sac-updates": Case(
        "Pendulum-v1",
        "sac",
        30,
        {"env_steps": 8_000, "learning_starts": 500},
        {"train_freq": 64, "gradient_steps": 1},
    ),
}


def one(name: str) -> None:
    """Trains the faulty run, calls the command, and compares what it ends at with the twin."""
    import dressage
    from dressage.prove.bootstrap import difference
    from dressage.prove.measures import final_return
    from dressage.proving import seeds_of, settings_of
    from dressage.runs.readers import read

    case, root = CASES[name], RUNS / name
    faulty = (_by_sb3 if case.sb3 else _by_us)(case, root)
    [view] = read(faulty)
    command = ["dressage", "optimize", str(faulty), "--minutes", str(case.minutes)]
    began = time.monotonic()
    said = subprocess.run(
        [
            str(Path(sys.executable).with_name("dressage")),
            *command[1:],
            "--json",
            "--runs",
            str(root),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    seconds = time.monotonic() - began
    found = json.loads(said.splitlines()[-1])
    settings = settings_of(view)
    patch = found["patch"]
    mended = {**settings, **patch}
    twin = {**settings, **{key: _healthy(case)[key] for key in case.fault}}
    finals = {
        side: [
            final_return(run) for run in seeds_of(root / side, asked, view, SEEDS, dressage.train)
        ]
        for side, asked in (("faulty", settings), ("mended", mended), ("healthy", twin))
    }
    apart = difference(
        np.array(finals["healthy"]), np.array(finals["mended"]), np.random.default_rng(0)
    )
    result = {
        "case": name,
        "env": case.env,
        "algo": case.algo,
        "library": view.library,
        "fault": case.fault,
        "minutes": case.minutes,
        "seconds": round(seconds, 1),
        "verdict": "proven" if found["proven"] else "not proven",
        "patch": patch,
        "says": found["says"],
        "finals": finals,
        "mended_less_healthy": [apart.value, apart.low, apart.high],
    }
    packages = ("dressage", "gymnasium", "numpy") + (("stable-baselines3",) if case.sb3 else ())
    BENCHMARK.save((name,), result, packages=packages, by=" ".join(command))
    print(f"{name}: {result['verdict']} after {seconds:.0f} s, {patch}; {apart}")


def _healthy(case: Case) -> dict[str, Any]:
    from dressage.presets.resolve import resolve

    if case.sb3:
        return {"ent_coef": 0.0}
    return resolve(case.env, case.algo, case.healthy).values()


def _by_us(case: Case, root: Path) -> Path:
    import dressage

    there = sorted(root.glob("faulty-run/*/config.json"))
    if there:
        return there[0].parent
    settings = {**case.healthy, **case.fault}
    run = dressage.train(case.env, algo=case.algo, runs=root / "faulty-run", **settings)
    return Path(run.path)


def _by_sb3(case: Case, root: Path) -> Path:
    folder = root / "faulty-run"
    if (folder / "model.zip").exists():
        return folder
    import gymnasium as gym
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.monitor import Monitor

    folder.mkdir(parents=True, exist_ok=True)
    model = PPO("MlpPolicy", Monitor(gym.make(case.env), str(folder / "0")), seed=0, **case.fault)
    model.set_logger(configure(str(folder), ["csv"]))
    model.learn(case.healthy["env_steps"])
    model.save(folder / "model.zip")
    return folder


def table() -> str:
    lines = [
        "| case | fault | minutes | took s | verdict | patch | faulty | mended | healthy | "
        "mended less healthy |",
        "|---|---|--:|--:|---|---|--:|--:|--:|---|",
    ]
    for result in BENCHMARK.load():
        means = {side: np.mean(values) for side, values in result["finals"].items()}
        words = [
            ", ".join(f"{key}={value}" for key, value in result[what].items())
            for what in ("fault", "patch")
        ]
        value, low, high = result["mended_less_healthy"]
        lines.append(
            f"| {result['case']} | {words[0]} | {result['minutes']} | {result['seconds']:.0f} | "
            f"{result['verdict']} | {words[1]} | {means['faulty']:.4g} | {means['mended']:.4g} | "
            f"{means['healthy']:.4g} | {value:.3g} [{low:.3g}, {high:.3g}] |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--only", nargs="*", choices=tuple(CASES), default=list(CASES))
    commands.add_parser("table")
    given = parser.parse_args()
    if given.command == "run":
        for name in given.only:
            if not BENCHMARK.file(name).exists():
                one(name)
    text = table()
    BENCHMARK.results.mkdir(parents=True, exist_ok=True)
    (BENCHMARK.results / "table.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
