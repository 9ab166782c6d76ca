"""One writer per run: a lock that the system releases when its process dies, kill -9 included."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from types import TracebackType

from dressage.errors import RunError
from dressage.runs.files import writing

LOCK_NAME = "run.lock"
# A reader that looks whether the lock is free holds it for microseconds: the writer tries again.
ATTEMPTS, PAUSE_SECONDS = 10, 0.02

_held: set[int] = set()

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # the locked byte lies beyond the content, which others may then read

    def _take(handle: int, shared: bool) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def _take(handle: int, shared: bool) -> None:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _forget_in_child() -> None:
        # A forked worker shares the lock; without this an orphan would keep a dead run locked.
        for handle in _held:
            with contextlib.suppress(OSError):
                os.close(handle)
        _held.clear()

    os.register_at_fork(after_in_child=_forget_in_child)


class RunLock:
    """`with RunLock(run_path): ...`; raises `RunError` while another holder is alive."""

    def __init__(self, run_path: Path) -> None:
        self.path = Path(run_path) / LOCK_NAME
        self._handle: int | None = None
        self._pid = 0

    def acquire(self) -> RunLock:
        with writing(self.path):
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        for attempt in range(ATTEMPTS):
            try:
                _take(handle, shared=False)
                break
            except OSError as error:
                if attempt + 1 < ATTEMPTS:
                    time.sleep(PAUSE_SECONDS)
                    continue
                pid = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
                os.close(handle)
                raise RunError(
                    f"The run {self.path.parent.name} is being written by process {pid}: wait for "
                    "it, or stop it first."
                ) from error
        self._handle, self._pid = handle, os.getpid()
        _held.add(handle)
        with writing(self.path):
            os.ftruncate(handle, 0)
            os.write(handle, f"{self._pid}\n".encode())
        return self

    def release(self) -> None:
        # In a forked child the number may meanwhile belong to another file: leave it alone.
        if self._handle is not None and self._pid == os.getpid():
            _held.discard(self._handle)
            os.close(self._handle)
        self._handle = None

    def __enter__(self) -> RunLock:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def is_locked(run_path: Path) -> bool:
    """Whether a living process writes this run."""
    try:
        handle = os.open(Path(run_path) / LOCK_NAME, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        _take(handle, shared=True)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(handle)
