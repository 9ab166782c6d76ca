"""Benchmarks: a process a job, none twice, failures named; stored results under the same names."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
USERS = [path for path in sorted(FOLDER.glob("*.py")) if "import Benchmark" in path.read_text()]
SCRIPT = """
from pathlib import Path
from jobs import Benchmark

BENCHMARK = Benchmark(__file__, {"task": None, "side": ["left", "right"]})

def one(task, side, seed):
    with Path(__file__).with_name("calls").open("a") as calls:
        calls.write(f"{task} {side} {seed}\\n")
    if (task, seed) == ("b/d", 1):
        raise SystemExit(3)
    result = {"task": task, "seed": seed}
    BENCHMARK.save((task, side, seed), result, packages=("numpy",), by="again")

def jobs(given):
    return [(task, "left", seed) for task in given.task for seed in range(given.seeds)]

def table():
    return "\\n".join(f"{r['task']} {r['seed']}" for r in BENCHMARK.load())

def asked(parser):
    parser.add_argument("task", nargs="+")

if __name__ == "__main__":
    BENCHMARK.main(None, asked=asked, jobs=jobs, one=one, table=table, seeds=2)
"""


def call(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(FOLDER)}
    return subprocess.run(
        [sys.executable, str(script), *words], env=environment, capture_output=True, text=True
    )


def test_jobs_run_once_and_say_which_failed(tmp_path: Path) -> None:
    script = tmp_path / "tiny.py"
    script.write_text(SCRIPT)
    assert call(script, "run", "a", "--at-once", "1").returncode == 0
    again = call(script, "run", "a", "b/d", "--at-once", "1")
    assert again.returncode == 1
    assert "1 of 2 jobs failed: b/d left 1" in again.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == ["a left 0", "a left 1", "b/d left 0", "b/d left 1"]
    results = tmp_path / "results" / "tiny"
    names = sorted(path.name for path in results.iterdir())
    assert names == ["a-left-0.json", "a-left-1.json", "b-d-left-0.json"]
    stored = json.loads((results / "b-d-left-0.json").read_text())
    assert list(stored) == ["task", "seed", "date", "machine", "versions", "command"]
    assert call(script, "table").stdout == "a 0\na 1\nb/d 0\n"
    assert (results / "table.md").read_text() == "a 0\na 1\nb/d 0\n"
    assert call(script, "one", "a", "above", "0").returncode == 2


@pytest.mark.parametrize("script", USERS, ids=lambda script: script.stem)
def test_stored_results_lie_where_their_jobs_look(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark = loaded(script).BENCHMARK
    results = benchmark.load()
    assert results
    for result in results:
        seed = [result["seed"]] if "seed" in result else []  # a job may be all of its seeds
        job = (*(result[word] for word in benchmark.words), *seed)
        assert json.loads(benchmark.file(*job).read_text()) == result


def loaded(script: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"benchmark_{script.stem}", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their own
    spec.loader.exec_module(module)
    return module
