"""A group of seeds: each member equals its seed alone, stopped and resumed or not."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import processes
from same_run import assert_same_run

import dressage
from dressage.core.rng import Rng
from dressage.runs.group import Group
from dressage.runs.run import Run

TINY: dict[str, Any] = {
    "env": "own_envs:leveled",
    "n_envs": 2,
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 1,
    "env_steps": 320,
    "net_arch": [8],
    "backend": "inline",
    "checkpoint_every": 96,
    "eval_every": 0,
    "final_eval_episodes": 1,
    "normalize_obs": True,
}


def wait_until(condition: Any, child: processes.Process, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert child.alive(), child.wait()
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def test_a_group_stopped_and_resumed(tmp_path: Path) -> None:
    slow = {**TINY, "env_kwargs": {"sleep": 0.01}}
    root = tmp_path / "group"
    child = processes.Process({**slow, "seeds": 2, "seed": 4, "runs": str(root)})
    wait_until(lambda: len(list(root.glob("own*/[45]/checkpoints/*/manifest.json"))) >= 2, child)
    (path,) = root.glob("own*")
    assert Group(path).status == "running"
    child.send(signal.SIGTERM)
    assert child.wait()["status"] == "stopped"
    stopped = Group(path)
    assert [member.status for member in stopped.members] == ["stopped", "stopped"]
    assert [entry["status"] for entry in stopped.listed] == ["stopped", "stopped"]

    assert processes.train(resume=str(path), trust=True)["status"] == "finished"
    for seed in (4, 5):
        alone = dressage.train(**slow, seed=seed, runs=tmp_path / "alone")
        assert_same_run(alone, Group(path).member(seed))


def test_one_member_fails_and_the_others_finish(tmp_path: Path) -> None:
    fatal = Rng(1).episode_seed(0, 2)  # the third episode of the second member
    settings = {**TINY, "env_kwargs": {"bad_seed": fatal}}
    result = processes.train(**settings, seeds=3, runs=str(tmp_path / "group"))
    group = Group(result["path"])
    assert result["status"] == group.status == "failed"
    assert [member.status for member in group.members] == ["finished", "failed", "finished"]
    assert [entry["status"] for entry in group.listed] == ["finished", "failed", "finished"]
    assert "the gate is locked" in group.member(1).status_details()["reason"]
    alone = dressage.train(**settings, seed=2, runs=tmp_path / "alone")
    assert_same_run(alone, group.member(2))


def test_a_parent_that_is_killed_leaves_members_that_stop(tmp_path: Path) -> None:
    slow = {**TINY, "env_kwargs": {"sleep": 0.01}, "env_steps": 6400}
    child = processes.Process({**slow, "seeds": 2, "runs": str(tmp_path)})
    wait_until(lambda: len(list(tmp_path.glob("own*/*/checkpoints/*/manifest.json"))) >= 2, child)
    child.kill()
    (path,) = tmp_path.glob("own*")
    deadline = time.monotonic() + 120
    while Group(path).status == "running":
        assert time.monotonic() < deadline, "members train on without a parent"
        time.sleep(0.05)
    assert {Run(path / seed).status for seed in "01"} == {"stopped"}
