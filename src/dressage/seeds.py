"""Groups of seeds: several runs of one config, each in a process of its own.

A member is a full run, equal bit for bit to the same seed trained alone. One that fails leaves the
others running.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

from dressage.assemble import make_recipe
from dressage.core.hooks import Hook, MemberState
from dressage.envs.process import available_cores
from dressage.errors import ConfigError
from dressage.presets.resolve import Resolved, unaliased
from dressage.runs.find import new_run_id, set_last
from dressage.runs.group import Group, write_group
from dressage.runs.run import Run, is_run
from dressage.runs.table import last_row

POLL_SECONDS = 0.25
Orders = dict[str, Any]  # what a member's process is told; plain values only


@dataclass
class Member:
    """One seed and the process that trains it."""

    seed: int
    path: Path
    orders: Orders
    process: BaseProcess | None = None
    lifeline: Connection | None = field(default=None, repr=False)  # closes with the parent

    @property
    def status(self) -> str:
        if self.process is None:
            return Run(self.path).status if is_run(self.path) else "waiting"
        if self.process.is_alive():
            return "running"
        status = Run(self.path).status if is_run(self.path) else "failed"
        return "crashed" if status == "running" else status


def train_group(resolved: Resolved, root: Path, *, hooks: Sequence[Hook] = ()) -> Group:
    """Trains seeds seed … seed + seeds - 1 into `root/<group-id>/<seed>/`."""
    run = resolved.run
    if run.env.startswith("__main__:") or "<" in run.env:
        raise ConfigError(
            "seeds over 1 train in processes of their own, which cannot see a function of the main "
            "script or within another function: put the environment into a module and name it, "
            "env='my_module:make_env'."
        )
    make_recipe(resolved)().close()  # one sentence here, instead of one from every member
    seeds = range(run.seed, run.seed + run.seeds)
    path = root / new_run_id(run.env, run.algo, f"{seeds[0]}-{seeds[-1]}", root)
    values = resolved.values() | {"seeds": 1}
    shared = {"sources": resolved.sources, "trust": True}
    members = [
        Member(seed, path / str(seed), {"values": values | {"seed": seed}, **shared})
        for seed in seeds
    ]
    _write(path, members)
    set_last(root, path.name)
    _run_all(path, members, run.env_steps, run.threads, hooks)
    return Group(path)


def resume_group(
    group: Group, overrides: Mapping[str, Any], *, hooks: Sequence[Hook], trust: bool
) -> Group:
    """Resumes every member that has not used its budget; members that never began are begun."""
    asked = unaliased(overrides)
    orders = {"resume": asked, "trust": trust}
    first = group.config
    members = []
    for entry in group.listed:
        path = group.path / str(entry["seed"])
        if is_run(path):
            members.append(Member(entry["seed"], path, orders))
        else:
            values = dict(first) | asked | {"seed": entry["seed"], "seeds": 1}
            begin = {"values": values, "sources": {}, "trust": trust}
            members.append(Member(entry["seed"], path, begin))
    budget = asked.get("env_steps", first["env_steps"])
    _run_all(group.path, members, budget, first["threads"], hooks)
    return Group(group.path)


def _run_all(
    path: Path, members: list[Member], budget: int, threads: int, hooks: Sequence[Hook]
) -> None:
    """As many members at a time as there are cores for; statuses in group.json as they change."""
    context = multiprocessing.get_context("spawn")
    at_once = max(1, available_cores() // threads)
    waiting = [
        m for m in members if m.status != "finished" or "env_steps" in m.orders.get("resume", {})
    ]
    stopping = threading.Event()
    known: list[str] = []
    with _forwarded_signals(members, stopping):
        while True:
            running = [m for m in members if m.process is not None and m.process.is_alive()]
            while waiting and len(running) < at_once and not stopping.is_set():
                running.append(_launch(context, waiting.pop(0)))
            statuses = [m.status for m in members]
            if statuses != known:
                _write(path, members)
                known = statuses
            if hooks:
                states = [_state(m, budget) for m in members]
                for hook in hooks:
                    hook.on_group(states)
            if not running:
                return
            time.sleep(POLL_SECONDS)


def _launch(context: Any, member: Member) -> Member:
    theirs, ours = context.Pipe(duplex=False)
    member.process = context.Process(
        target=_train_member,
        args=(member.orders, str(member.path), theirs),
        name=f"seed-{member.seed}",
    )
    member.process.start()
    theirs.close()
    member.lifeline = ours
    return member


def _train_member(orders: Orders, path: str, lifeline: Connection) -> None:
    """The body of a member's process."""
    from dressage.errors import DressageError
    from dressage.presets.resolve import resolve
    from dressage.training import train_new, train_resumed

    if hasattr(os, "setpgrp"):
        os.setpgrp()  # a Ctrl-C in the terminal is for the parent, which asks each member once
    threading.Thread(target=_stop_with_parent, args=(lifeline,), daemon=True).start()
    try:
        if "resume" in orders:
            train_resumed(Run(path), orders["resume"], env=None, hooks=(), trust=orders["trust"])
        else:
            values = orders["values"]
            trust = orders["trust"]
            resolved = resolve(values["env"], values["algo"], values, trust=trust, use_preset=False)
            resolved.sources.update(orders["sources"])
            train_new(resolved, Path(path), trust=trust)
    except DressageError as error:
        if not is_run(Path(path)):  # else said in the run's own status
            print(f"{Path(path).name}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    except KeyboardInterrupt:
        os._exit(1)


def _stop_with_parent(lifeline: Connection) -> None:
    """A parent that is gone, even by kill -9, asks its members to stop cleanly."""
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)


class _forwarded_signals:
    """Ctrl-C and SIGTERM reach every member, which save and end; a second one ends them at once."""

    def __init__(self, members: list[Member], stopping: threading.Event) -> None:
        self.members, self.stopping = members, stopping
        self.before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        again = self.stopping.is_set()
        self.stopping.set()
        for member in self.members:
            if member.process is not None and member.process.pid and member.process.is_alive():
                os.kill(member.process.pid, signal.SIGKILL if again else signal.SIGTERM)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        for member in self.members:
            if member.lifeline is not None:
                member.lifeline.close()
            if member.process is not None:
                member.process.join()


def _write(path: Path, members: list[Member]) -> None:
    write_group(path, [{"seed": m.seed, "path": m.path.name, "status": m.status} for m in members])


def _state(member: Member, budget: int) -> MemberState:
    row = last_row(member.path / "metrics.csv") if is_run(member.path) else {}
    return MemberState(
        member.seed, member.status, int(row.get("env_steps", 0)), budget, row, member.path
    )
