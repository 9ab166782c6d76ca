"""Disks that are full or read-only, files cut off, checkpoints damaged, two writers of one run."""

from __future__ import annotations

import errno
import math
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
from own_envs import StopAt
from same_run import assert_same_run, documents

import dressage
from dressage.core.hooks import Hook
from dressage.errors import DressageError, RunError
from dressage.runs.run import Run

SETTINGS: dict[str, Any] = {
    "env": "CartPole-v1",
    "seed": 3,
    "n_envs": 2,
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 1,
    "env_steps": 256,
    "net_arch": [8],
    "backend": "inline",
    "checkpoint_every": 64,
    "eval_every": 0,
    "final_eval_episodes": 0,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return dressage.train(**SETTINGS, runs=tmp_path_factory.mktemp("whole"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, where this may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


class Fills(Hook):
    """Fills the disk in mid-run, to the last byte or nearly."""

    def __init__(self, ballast: Path, left: int) -> None:
        self.ballast, self.left = ballast, left

    def on_iteration(self, moment: Any) -> None:
        if moment.env_steps < 150 or self.ballast.exists():
            return
        with self.ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                file.truncate(max(0, file.tell() - self.left))


@pytest.mark.parametrize("left", [0, 4096, 3 * 4096])
def test_a_full_disk(left: int, small_disk: Path, tmp_path: Path) -> None:
    """The run ends with a sentence; once there is space again, it goes on as if nothing was."""
    hooks = [Fills(tmp_path / "never", 0)]
    (tmp_path / "never").touch()
    whole = dressage.train(**SETTINGS, runs=tmp_path / "whole", hooks=hooks)
    ballast = small_disk / "ballast"
    with pytest.raises(RunError, match=r"disk is full.*resume"):
        dressage.train(**SETTINGS, runs=small_disk / "runs", hooks=[Fills(ballast, left)])
    (path,) = (small_disk / "runs").glob("cartpole*")
    run = Run(path)
    assert run.status in ("failed", "crashed")
    assert run.metrics()["env_steps"].size >= 2
    assert run.checkpoints()
    if left == 0:
        with pytest.raises(RunError, match="disk is full"):  # still
            dressage.train(resume=run, hooks=hooks)
    assert Run(path).checkpoints()

    ballast.unlink()
    assert_same_run(whole, dressage.train(resume=run, hooks=hooks))


@pytest.mark.parametrize("call", ["write", "fsync", "mkdir", "rename", "replace"])
def test_a_disk_that_fails_at_any_call(
    call: str, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no small disk can be mounted, and for calls that a full one rarely hits."""
    chance, real = random.Random(call), getattr(os, call)
    calls, fails_after = 0, math.inf

    def failing(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > fails_after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
        dressage.train(**SETTINGS, runs=tmp_path / "counted")
    # How many there are depends a little on time: rows that come fast are written together.
    most = calls * 3 // 4
    assert most >= 3
    for attempt in range(3):
        calls, fails_after = 0, chance.randint(1, most)
        root = tmp_path / str(attempt)
        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing)
            with pytest.raises(RunError, match="disk is full"):
                dressage.train(**SETTINGS, runs=root)
        found = [path for path in root.glob("cartpole*") if (path / "config.json").exists()]
        if not found:
            continue  # it had not begun
        assert_same_run(whole, dressage.train(resume=found[0]))


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for root, whom permissions do not stop."""
    root = tmp_path / "runs"
    root.mkdir()
    real = os.mkdir

    def refusing(path: Any, *args: Any, **kwargs: Any) -> None:
        if str(path).startswith(str(root)):
            raise OSError(errno.EROFS, "Read-only file system")
        real(path, *args, **kwargs)

    monkeypatch.setattr(os, "mkdir", refusing)
    with pytest.raises(RunError, match=r"cannot be written.*--runs DIR or DRESSAGE_RUNS"):
        dressage.train(**SETTINGS, runs=root)
    assert not list(root.iterdir())


def test_a_read_only_disk_is_still_read(small_disk: Path) -> None:
    run = dressage.train(**SETTINGS, runs=small_disk, hooks=[StopAt(100)])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert run.status == "stopped"
    assert run.metrics()["env_steps"].size
    assert dressage.evaluate(run, episodes=1)["episodes"] == 1
    before = documents(run.path)
    with pytest.raises(RunError, match="cannot be written"):
        dressage.train(resume=run)
    with pytest.raises(RunError, match="cannot be written"):
        dressage.train(**SETTINGS, runs=small_disk)
    assert documents(run.path) == before


def assert_sentence(error: DressageError) -> None:
    assert str(error).endswith((".", ")")), f"not a sentence: {error}"


def read_everything(run: Run) -> None:
    for look in (
        lambda: run.config,
        lambda: run.spec,
        lambda: run.status,
        run.metrics,
        run.episodes,
        run.events,
        run.checkpoints,
        run.summary,
        run._repr_html_,
        lambda: run.best,
        lambda: dressage.api.report(run),
        lambda: dressage.load(run),
    ):
        try:
            look()
        except DressageError as error:
            assert_sentence(error)


def test_any_file_cut_off_anywhere(whole: Run, tmp_path: Path) -> None:
    """Reading and resuming give a sentence or work; where a resume works, it is exact."""
    chance = random.Random(0)
    stopped = dressage.train(**SETTINGS, runs=tmp_path / "runs", hooks=[StopAt(150)])
    files = sorted(p.relative_to(stopped.path) for p in stopped.path.rglob("*") if p.is_file())
    assert len(files) > 15
    resumed = 0
    for file in files:
        for part in (chance.choice((0.0, 1.0)), chance.random()):
            copy = tmp_path / "copy"
            shutil.copytree(stopped.path, copy)
            size = (copy / file).stat().st_size
            os.truncate(copy / file, min(int(part * size), max(0, size - 2)))
            try:
                run = Run(copy)
                read_everything(run)
                assert_same_run(whole, dressage.train(resume=run, hooks=[StopAt(10**9)]))
                resumed += 1
            except DressageError as error:
                assert_sentence(error)
            shutil.rmtree(copy)
    assert resumed > len(files)


def test_a_corrupt_checkpoint_falls_back_to_the_one_before(whole: Run, tmp_path: Path) -> None:
    chance = random.Random(1)
    stopped = dressage.train(**SETTINGS, runs=tmp_path / "runs", hooks=[StopAt(150)])
    *_, before, newest = sorted(stopped.checkpoints())
    for part in ("policy", "optimizer", "collector", "memory"):
        copy = tmp_path / part
        shutil.copytree(stopped.path, copy)
        file = copy / "checkpoints" / str(newest) / f"{part}.safetensors"
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        run = dressage.train(resume=copy)
        (event,) = run.events("resume")
        assert event["env_steps"] == before
        assert str(newest) in event["skipped"][0]
        assert "damaged" in event["skipped"][0]
        assert "damaged" in (copy / "run.log").read_text()
        assert_same_run(whole, run)


def test_no_whole_checkpoint_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    stopped = dressage.train(**SETTINGS, runs=tmp_path, hooks=[StopAt(150)])
    for file in stopped.path.glob("checkpoints/*/optimizer.safetensors"):
        file.write_bytes(b"damage")
    before = documents(stopped.path)
    with pytest.raises(RunError, match=r"no checkpoint to resume from.*optimizer"):
        dressage.train(resume=stopped)
    assert documents(stopped.path) == before
    assert stopped.status == "stopped"


def test_two_processes_on_one_run(tmp_path: Path) -> None:
    slow = {**SETTINGS, "env": "own_envs:Walk", "env_kwargs": {"sleep": 0.005}}
    root = tmp_path / "runs"
    child = processes.Process({**slow, "runs": str(root)})
    while not list(root.glob("own*/checkpoints/*/manifest.json")):
        assert child.alive(), child.wait()
    (path,) = root.glob("own*")
    run = Run(path)
    assert run.status == "running"
    with pytest.raises(RunError, match=f"process {child.pid}"):
        dressage.train(resume=run, trust=True)
    assert child.wait()["status"] == "finished"
    whole = processes.train(**slow, runs=str(tmp_path / "whole"))
    assert_same_run(Run(whole["path"]), run)
