"""What a diagnosis costs, from the command to its report, beside pandas reading the same table.

    python benchmarks/diagnose.py          # writes results/diagnose/results.json and prints it

Both are processes of their own, in turn, several times: cold, as a person meets them. The table has
10,000 rows of 50 metrics (an own run's, written again and again with noise), then a million rows of
ten metrics.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "diagnose" / "results.json"
REPEATS = 5
PANDAS = "import pandas, sys; print(len(pandas.read_csv(sys.argv[1])))"
PEAK = (
    "import resource, subprocess, sys, time; began = time.perf_counter(); "
    "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    "print(time.perf_counter() - began, "
    "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
)
FORBIDDEN = ("torch", "pandas", "scipy.stats")


def run_folder(folder: Path, rows: int, columns: int) -> Path:
    """A finished run whose metrics.csv has so many rows and columns."""
    import dressage

    run = dressage.train("CartPole-v1", env_steps=4096, seed=0, runs=folder)
    path = Path(run.path)
    header, *lines = (path / "metrics.csv").read_text().splitlines()
    names = header.split(",")
    keep = [i for i, name in enumerate(names) if i < 4 or name.startswith("train/")][:columns]
    cells = np.array([line.split(",") for line in lines])[:, keep]
    cells[cells == ""] = "0"
    values = cells.astype(float)
    generator = np.random.default_rng(0)
    with (path / "metrics.csv").open("w") as out:
        out.write(",".join(names[i] for i in keep) + "\n")
        for start in range(0, rows, 50_000):
            count = min(50_000, rows - start)
            block = np.resize(values, (count, len(keep)))
            block *= 1 + 0.01 * generator.normal(size=block.shape)
            block[:, 0] = np.arange(start, start + count) * 256.0
            np.savetxt(out, block, fmt="%.8g", delimiter=",")
    return path


def timed(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MB of a process."""
    told = subprocess.run(
        [sys.executable, "-c", PEAK, *command], check=True, capture_output=True, text=True
    )
    seconds, peak = told.stdout.split()
    return float(seconds), float(peak)


def measured(path: Path) -> dict[str, Any]:
    command = str(Path(sys.executable).with_name("dressage"))
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        ours.append(timed([command, "diagnose", str(path), "--json"]))
        theirs.append(timed([sys.executable, "-c", PANDAS, str(path / "metrics.csv")]))
    seconds = np.array([s for s, _ in ours])
    return {
        "seconds": [round(float(s), 3) for s in seconds],
        "pandas_seconds": [round(s, 3) for s, _ in theirs],
        "ratio": round(float(np.median(seconds / np.array([s for s, _ in theirs]))), 2),
        "peak_mb": round(max(m for _, m in ours)),
        "file_mb": round((path / "metrics.csv").stat().st_size / 1e6, 1),
    }


def imported(path: Path) -> list[str]:
    """Which of the packages that must stay out are loaded after a diagnosis."""
    code = (
        "import sys, dressage\n"
        f"dressage.diagnose({str(path)!r})\n"
        f"print([name for name in {FORBIDDEN!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found: list[str] = json.loads(told.stdout.splitlines()[-1].replace("'", '"'))
    return found


def main() -> None:
    began = time.perf_counter()
    # pip compiles what it installs, pandas too; our sources are run where they lie
    source = Path(__file__).parents[1] / "src"
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        small = run_folder(Path(folder) / "small", 10_000, 50)
        result = {"10,000 x 50": measured(small), "imported": imported(small)}
        large = run_folder(Path(folder) / "large", 1_000_000, 10)
        result["1,000,000 x 10"] = measured(large)
    result |= {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "versions": {name: version(name) for name in ("dressage", "numpy", "pandas")},
        "command": "python benchmarks/diagnose.py",
        "load": os.getloadavg()[0],
        "minutes": round((time.perf_counter() - began) / 60, 1),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
