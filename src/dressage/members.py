"""Who trains a member of a group: a process of its own, or a thread where C does all the work."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from dressage.core.hooks import Hook
from dressage.errors import DressageError
from dressage.native.threads import cores
from dressage.runs.run import Run, is_run

Orders = dict[str, Any]  # what a member is told; plain values only


class Worker(Protocol):
    """Trains one member from its start to its end."""

    def is_alive(self) -> bool: ...

    def ask(self, number: int, at_once: bool) -> None:
        """To end: cleanly, with a checkpoint, or at once."""

    def join(self) -> None: ...


class ProcessWorker:
    """A process with an interpreter of its own, which ends cleanly when its parent is gone."""

    def __init__(self, context: Any, orders: Orders, path: Path) -> None:
        theirs, self._lifeline = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_train_in_process, args=(orders, str(path), theirs), name=f"seed-{path.name}"
        )
        self.process.start()
        theirs.close()

    def is_alive(self) -> bool:
        return bool(self.process.is_alive())

    def ask(self, number: int, at_once: bool) -> None:
        if self.process.pid:
            os.kill(self.process.pid, signal.SIGKILL if at_once else signal.SIGTERM)

    def join(self) -> None:
        self._lifeline.close()
        self.process.join()


class ThreadWorker:
    """A thread: nothing is imported again, and C holds no lock while it works."""

    def __init__(self, orders: Orders, path: Path, ended: threading.Event) -> None:
        from dressage.training import Stop

        self.stop = Stop()
        self.thread = threading.Thread(
            target=self._train, args=(orders, path, ended), name=f"seed-{path.name}", daemon=True
        )
        self.thread.start()

    def _train(self, orders: Orders, path: Path, ended: threading.Event) -> None:
        try:
            train_member(orders, path, self.stop)
        finally:
            ended.set()

    def is_alive(self) -> bool:
        return self.thread.is_alive()

    def ask(self, number: int, at_once: bool) -> None:
        if at_once:
            raise KeyboardInterrupt  # ends this process, and its threads with it
        self.stop.ask(number)

    def join(self) -> None:
        self.thread.join()


def wait_for_one(running: Sequence[Worker], ended: threading.Event, seconds: float) -> None:
    """Until a worker ends, or some time has passed."""
    processes = [worker.process for worker in running if isinstance(worker, ProcessWorker)]
    if processes:
        connection.wait([process.sentinel for process in processes], seconds)
        return
    ended.wait(seconds)
    ended.clear()


def train_member(orders: Orders, path: Path, stop: Any = None) -> bool:
    """Trains or resumes one seed; False where it failed, of which the run itself tells."""
    from dressage.presets.resolve import resolve
    from dressage.training import train_new, train_resumed

    trust = orders["trust"]
    try:
        with cores(1):  # the other members have the rest
            if "resume" in orders:
                run = Run(path)
                hooks = _hooks(orders, run.config | orders["resume"])
                options = {"env": None, "hooks": hooks, "trust": trust, "stop": stop}
                train_resumed(run, orders["resume"], **options)
                return True
            values = orders["values"]
            resolved = resolve(values["env"], values["algo"], values, trust=trust, use_preset=False)
            resolved.sources.update(orders["sources"])
            train_new(resolved, path, trust=trust, stop=stop, hooks=_hooks(orders, values))
            return True
    except DressageError as error:
        if not is_run(path):  # else said in the run's own status
            print(f"{path.name}: {error}", file=sys.stderr, flush=True)
        return False


def _hooks(orders: Orders, config: Mapping[str, Any]) -> Sequence[Hook]:
    """Those that `orders["hooks"]`, the name of a function of ours, makes of the config."""
    if not orders.get("hooks"):
        return ()
    module, _, name = orders["hooks"].partition(":")
    made: Sequence[Hook] = getattr(importlib.import_module(module), name)(config)
    return made


def _train_in_process(orders: Orders, path: str, lifeline: Connection) -> None:
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # a Ctrl-C in the terminal is for the parent, which asks each member once
    threading.Thread(target=_stop_with_parent, args=(lifeline,), daemon=True).start()
    try:
        fine = train_member(orders, Path(path))
    except KeyboardInterrupt:
        fine = False
    if not fine:
        os._exit(1)


def _stop_with_parent(lifeline: Connection) -> None:
    """A parent that is gone, even by kill -9, asks its members to stop cleanly."""
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
