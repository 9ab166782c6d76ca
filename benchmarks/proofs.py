"""Do proofs keep their word? Coverage of intervals, and alarms where there is nothing to find.

    python benchmarks/proofs.py coverage               # simulated; writes results/proofs/
    python benchmarks/proofs.py same --minutes 20      # verdicts on a change that changes nothing
    python benchmarks/proofs.py table

`same` trains both sides of `verify` with the same settings, on seeds that no other pair has, and
takes every planned look: a verdict other than "not proven" is a false one. It resumes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dressage.math.summary import Float64s
from dressage.prove.bootstrap import aggregate, difference

RESULTS = Path(__file__).parent / "results" / "proofs"
Law = Callable[[np.random.Generator, int], Float64s]


def two_kinds(share: float, good: float, bad: float) -> Law:
    """Runs that learn, and runs that do not."""
    return lambda rng, n: np.where(
        rng.random(n) < share, rng.normal(500.0, good, n), rng.normal(60.0, bad, n)
    )


LAWS: dict[str, Law] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_t(3, n),
    "skewed": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "capped": lambda rng, n: np.minimum(500.0, rng.normal(450.0, 60.0, n)),
    "half fail": two_kinds(0.5, 5.0, 5.0),
    "four in ten fail": two_kinds(0.6, 5.0, 5.0),
    "two in ten fail": two_kinds(0.8, 20.0, 30.0),
    "one in ten fails": two_kinds(0.9, 20.0, 30.0),
}
SEEDS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24)
REPEATS, DRAWS = 2000, 500

# `same`: a short training that some seeds solve and some do not.
ENV, ALGO = "CartPole-v1", "ppo"
SHORT = {
    "env_steps": 8_192,
    "n_envs": 8,
    "n_steps": 64,
    "batch_size": 128,
    "n_epochs": 4,
    "gamma": 0.98,
    "gae_lambda": 0.9,
    "learning_rate": "linear(2e-3, 0)",
}
PAIRS = 200
FIRST_SEED = 1_000_000


def simulated() -> list[dict[str, Any]]:
    rows = []
    for law, draw in LAWS.items():
        rng = np.random.default_rng(0)
        ordered = np.sort(draw(rng, 4_000_000))
        truth = float(ordered[len(ordered) // 4 : -(len(ordered) // 4)].mean())
        for seeds in SEEDS:
            one = two = 0
            for _ in range(REPEATS):
                a, b = draw(rng, seeds), draw(rng, seeds)
                found = aggregate([a], rng, draws=DRAWS)
                one += found.low <= truth <= found.high
                apart = difference(a, b, rng, draws=DRAWS)
                two += apart.low <= 0.0 <= apart.high
            rows.append({"law": law, "seeds": seeds, "one": one / REPEATS, "two": two / REPEATS})
            print(law, seeds, one / REPEATS, two / REPEATS, flush=True)
    return rows


def same(minutes: float) -> None:
    """Pairs of groups with the same settings, until the time is over or all are there."""
    import dressage
    from dressage.presets.resolve import resolve
    from dressage.prove.verify import BASELINE, GOALS, verify
    from dressage.proving import OWN, seeds_of
    from dressage.runs.view import RunView

    values = resolve(ENV, ALGO, SHORT, use_preset=False).values()
    settings = {name: value for name, value in values.items() if name not in ("env", "algo", *OWN)}
    path = RESULTS / "same.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = len(path.read_text().splitlines()) if path.exists() else 0
    began = time.monotonic()
    for pair in range(done, PAIRS):
        if time.monotonic() - began > 60 * minutes:
            break
        with tempfile.TemporaryDirectory() as folder:
            like = RunView(Path(folder), "same", "dressage", ALGO, ENV)

            def train(side: str, seeds: range, like: RunView = like) -> list[RunView]:
                # a change that changes nothing would give the very same runs on the same seeds
                other = 0 if side == BASELINE else 50
                shifted = range(seeds.start + other, seeds.stop + other)
                return seeds_of(like.path / side, settings, like, shifted, dressage.train)

            first = FIRST_SEED + 100 * pair
            found = {
                goal: verify({"nothing": True}, train, goal=goal, first_seed=first)
                for goal in GOALS
                if goal != "wall"
            }
        row = {
            "pair": pair,
            **{
                goal: {"verdict": one.verdict, "p": [look.p for look in one.looks]}
                for goal, one in found.items()
            },
        }
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


def table() -> str:
    """Both parts, as far as they were made, as one page."""
    return "\n".join(["# Do proofs keep their word?", "", *_coverage(), *_verdicts()]) + "\n"


def _coverage() -> list[str]:
    path = RESULTS / "coverage.json"
    if not path.exists():
        return []
    made = json.loads(path.read_text())
    rows = made["rows"]
    lines = [
        "How often 95 % intervals hold the truth: of one group's interquartile mean, and of the "
        f"difference of two ({made['repeats']} repeats each, {made['date']}).",
        "",
        "| law of the returns | " + " | ".join(f"{n} seeds" for n in SEEDS) + " |",
        "|---|" + "--:|" * len(SEEDS),
    ]
    by = {(row["law"], row["seeds"]): row for row in rows}
    for law in LAWS:
        cells = [f"{by[law, n]['one']:.1%}, {by[law, n]['two']:.1%}" for n in SEEDS]
        lines.append(f"| {law} | " + " | ".join(cells) + " |")
    least = [
        f"{min(by[law, n]['one'] for law in LAWS):.1%}, "
        f"{min(by[law, n]['two'] for law in LAWS):.1%}"
        for n in SEEDS
    ]
    lines += ["| least | " + " | ".join(least) + " |", ""]
    return lines


def _verdicts() -> list[str]:
    path = RESULTS / "same.jsonl"
    lines = []
    if path.exists():
        pairs = [json.loads(line) for line in path.read_text().splitlines()]
        for goal in ("frames", "return"):
            wrong = sum(pair[goal]["verdict"] != "not proven" for pair in pairs)
            low, high = wilson(wrong, len(pairs))
            lines.append(
                f"- Verdicts on nothing, goal {goal}: {wrong} of {len(pairs)} pairs of groups were "
                f"called proven or worse: {wrong / len(pairs):.1%} [{low:.1%}, {high:.1%}], where "
                "at most 5 % is wanted, all looks (8, 12, 16, 24 seeds a side) taken."
            )
    return lines


def wilson(count: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share, which says something of none in a few, too."""
    middle, half = count + z**2 / 2, z * math.sqrt(count * (n - count) / n + z**2 / 4)
    return max(0.0, (middle - half) / (n + z**2)), (middle + half) / (n + z**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("coverage", "same", "table"))
    parser.add_argument("--minutes", type=float, default=20.0)
    asked = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    if asked.part == "coverage":
        whole = {
            "rows": simulated(),
            "repeats": REPEATS,
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "versions": {name: version(name) for name in ("dressage", "numpy")},
            "command": "python benchmarks/proofs.py coverage",
        }
        (RESULTS / "coverage.json").write_text(json.dumps(whole) + "\n")
    elif asked.part == "same":
        same(asked.minutes)
    text = table()
    (RESULTS / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
