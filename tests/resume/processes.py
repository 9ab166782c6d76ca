"""Training in processes of their own, quickly: forked from a server that has only imported.

Importing torch takes seconds; a fork of a process that has imported everything and run nothing
takes milliseconds and knows no more of a run than a new one does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parent)


def context() -> Any:
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    os.environ["OMP_NUM_THREADS"] = "1"  # a fork keeps no other threads
    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, *_paths()])  # for processes of processes
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["preloaded"])
    return made


def _paths() -> list[str]:
    return [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != HERE]


def job(orders: dict[str, Any], sender: Any) -> None:
    """The body of a process: one call of `dressage.train`, with what the orders ask beside it."""
    import torch
    from own_envs import StopAt

    import dressage
    from dressage.errors import DressageError

    torch.set_num_threads(1)
    if "die" in orders:
        import dying

        dying.arm(**orders["die"])
    hook = StopAt(orders.get("stop_at", 10**9))  # always there: hooks leave a trace in checkpoints
    try:
        run = dressage.train(**orders["train"], hooks=[hook])
        sender.send({"path": str(run.path), "status": run.status})
    except DressageError as error:
        sender.send({"error": type(error).__name__, "message": str(error)})
    except BaseException:
        sender.send({"error": "traceback", "message": traceback.format_exc()})


class Process:
    """One `dressage.train` in a process of its own."""

    def __init__(self, train: dict[str, Any], **orders: Any) -> None:
        made = context()
        self._receiver, sender = made.Pipe(duplex=False)
        self._process = made.Process(target=job, args=({"train": train, **orders}, sender))
        self._process.start()
        sender.close()
        self.pid: int = self._process.pid

    def wait(self, seconds: float = 300.0) -> dict[str, Any]:
        """What it sent: path and status, or an error; {} if it was killed before."""
        self._process.join(seconds)
        if self._process.is_alive():
            self.kill()
            raise TimeoutError(f"the process was still at work after {seconds} s")
        try:
            return self._receiver.recv() if self._receiver.poll() else {}
        except EOFError:
            return {}

    @property
    def exitcode(self) -> int | None:
        return self._process.exitcode

    def alive(self) -> bool:
        return self._process.is_alive()

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it may end at this very moment
            self.send(signal.SIGKILL)
        self._process.join()


def train(**settings: Any) -> dict[str, Any]:
    """A whole call in a new process; it must not fail."""
    orders = {key: settings.pop(key) for key in ("stop_at", "die") if key in settings}
    result = Process(settings, **orders).wait()
    assert "path" in result, result.get("message", "the process died")
    return result
