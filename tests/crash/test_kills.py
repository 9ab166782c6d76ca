"""kill -9 at random moments: the run stays readable, and in the end equals an undisturbed one.

Half of the kills come after a random time. The other half come right before a random system call
that changes a file, or in the middle of a write: those moments are short, and the dangerous ones.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import processes
import pytest
from same_run import assert_same_run

from dressage.api import report
from dressage.runs.checkpoint import latest_checkpoint
from dressage.runs.find import list_runs
from dressage.runs.run import Run

SETTINGS = {
    "env": "CartPole-v1",
    "n_envs": 2,
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 2,
    "env_steps": 512,
    "net_arch": [8],
    "normalize_obs": True,
    "normalize_reward": True,
    "checkpoint_every": 64,
    "eval_every": 128,
    "eval_episodes": 2,
    "final_eval_episodes": 2,
}
ENGINES = (
    {"engine": "torch", "backend": "inline"},
    {"engine": "native", "backend": "native"},
    {"engine": "native", "backend": "inline"},
)
LONGEST_LIFE = 0.6  # seconds; a run takes about as long
MOST_CALLS = 150  # that change files; a run makes some 600


def undisturbed(root: Path, engine: dict[str, str]) -> Run:
    return Run(processes.train(**SETTINGS, **engine, runs=str(root / "whole"))["path"])


def assert_readable(run: Run) -> None:
    """Everything that only reads works on what a killed process left."""
    assert run.status == "crashed"
    rows = run.metrics()["env_steps"]
    assert all(rows[1:] > rows[:-1])
    assert set(run.episodes()["ended"]) <= {"terminated", "truncated"}
    assert run.events()[0]["kind"] == "begin"
    assert run.config["env"] == "CartPole-v1"
    latest = latest_checkpoint(run.path)
    assert not latest.skipped, "a killed process left a damaged checkpoint under its final name"
    assert run.summary()["status"] == "crashed"
    assert "CartPole-v1" in run._repr_html_()
    assert report(run)


def killed_until_done(
    root: Path,
    chance: random.Random,
    engine: dict[str, str],
) -> tuple[Run | None, int]:
    """One run, killed and resumed until it is done; with how often it was killed."""
    kills = 0
    while True:
        found = list_runs(root) if root.exists() else []
        orders: dict[str, Any] = {}
        if chance.random() < 0.5:
            cut = chance.random() < 0.5
            orders["die"] = {"at_call": chance.randint(1, MOST_CALLS), "cut_write": cut}
        train = (
            {"resume": str(found[0].path)} if found else {**SETTINGS, **engine, "runs": str(root)}
        )
        child = processes.Process(train, **orders)
        if not orders:
            time.sleep(chance.uniform(0.0, LONGEST_LIFE))
            child.kill()
        result = child.wait()
        found = list_runs(root) if root.exists() else []
        if result:
            assert "path" in result, result["message"]
            return Run(result["path"]), kills
        kills += 1
        if found and found[0].status == "finished":  # killed after its last word
            return found[0], kills
        if found:
            assert len(found) == 1
            assert_readable(found[0])


def kill_many(root: Path, kills: int, seed: int, say: Callable[[int, int], None]) -> None:
    """Runs of every engine in turn, until there were so many kills."""
    chance = random.Random(seed)
    wholes: dict[int, Run] = {}
    done = runs = 0
    while done < kills:
        which = (seed + runs) % len(ENGINES)
        if which not in wholes:
            wholes[which] = undisturbed(root, ENGINES[which])
        run, count = killed_until_done(root / str(runs), chance, ENGINES[which])
        assert_same_run(wholes[which], run)
        runs, done = runs + 1, done + count
        say(done, runs)


@pytest.mark.parametrize("part", range(5))
def test_fifty_kills(part: int, tmp_path: Path) -> None:
    kill_many(tmp_path, 10, part, lambda done, runs: None)


@pytest.mark.crash
def test_five_hundred_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()

    def say(done: int, runs: int) -> None:
        with capsys.disabled():
            passed = time.monotonic() - began
            print(f"\r{done} kills, {runs} runs equal, {passed:.0f} s", end="", flush=True)

    kill_many(tmp_path, 500, random.randrange(2**32), say)
