from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dressage.errors import RunError
from dressage.runs.lock import RunLock, is_locked

HOLD = """
import sys, time
from pathlib import Path
from dressage.runs.lock import RunLock
RunLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_dies(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_locked(tmp_path)
        with pytest.raises(RunError, match=f"being written by process {holder.pid}"):
            RunLock(tmp_path).acquire()
    finally:
        holder.kill()
        holder.wait()
    assert not is_locked(tmp_path)
    with RunLock(tmp_path):
        assert is_locked(tmp_path)
        with pytest.raises(RunError, match=str(os.getpid())):
            RunLock(tmp_path).acquire()
    assert not is_locked(tmp_path)


def test_looking_does_not_disturb(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        for _ in range(100):
            assert is_locked(tmp_path)
    for _ in range(20):
        with RunLock(tmp_path):
            pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_worker_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = RunLock(tmp_path).acquire()
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    try:
        assert is_locked(tmp_path)
        lock.release()
        deadline = time.monotonic() + 5  # the child closes its copy as its first act
        while is_locked(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_locked(tmp_path)
    finally:
        worker.kill()
        worker.join()
