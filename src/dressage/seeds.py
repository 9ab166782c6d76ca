"""Groups of seeds: several runs of one config, as many at a time as there are cores.

A member is a full run, equal bit for bit to the same seed trained alone. One that fails leaves the
others running. Members train in processes, or on threads of this one where the environment and the
updates are C.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from dressage.assemble import all_native, make_recipe
from dressage.core.ending import ending_signals
from dressage.core.hooks import Hook, MemberState
from dressage.envs.process import available_cores
from dressage.errors import ConfigError
from dressage.members import Orders, ProcessWorker, ThreadWorker, Worker, wait_for_one
from dressage.presets.resolve import Resolved, resolve, unaliased
from dressage.runs.find import new_run_id, set_last
from dressage.runs.group import Group, write_group
from dressage.runs.run import Run, is_run
from dressage.runs.table import last_events, last_row

POLL_SECONDS = 0.25


@dataclass
class Member:
    """One seed and who trains it."""

    seed: int
    path: Path
    orders: Orders
    worker: Worker | None = None

    @property
    def status(self) -> str:
        if self.worker is None:
            return Run(self.path).status if is_run(self.path) else "waiting"
        if self.worker.is_alive():
            return "running"
        status = Run(self.path).status if is_run(self.path) else "failed"
        return "crashed" if status == "running" else status


def train_group(
    resolved: Resolved, root: Path, *, hooks: Sequence[Hook] = (), member_hooks: str = ""
) -> Group:
    """Trains seeds seed … seed + seeds - 1 into `root/<group-id>/<seed>/`.

    `member_hooks`: `module:function` of ours that makes a member's own hooks of its config.
    """
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
    shared = {"sources": resolved.sources, "trust": True, "hooks": member_hooks}
    members = [
        Member(seed, path / str(seed), {"values": values | {"seed": seed}, **shared})
        for seed in seeds
    ]
    _write(path, members)
    set_last(root, path.name)
    _run_all(path, members, resolved, hooks)
    return Group(path)


def resume_group(
    group: Group,
    overrides: Mapping[str, Any],
    *,
    hooks: Sequence[Hook],
    trust: bool,
    member_hooks: str = "",
) -> Group:
    """Resumes every member that has not used its budget; members that never began are begun."""
    asked = unaliased(overrides)
    orders = {"resume": asked, "trust": trust, "hooks": member_hooks}
    first = group.config
    members = []
    for entry in group.listed:
        path = group.path / str(entry["seed"])
        if is_run(path):
            members.append(Member(entry["seed"], path, orders))
        else:
            values = dict(first) | asked | {"seed": entry["seed"], "seeds": 1}
            begin = {"values": values, "sources": {}, "trust": trust, "hooks": member_hooks}
            members.append(Member(entry["seed"], path, begin))
    wanted = dict(first) | asked
    resolved = resolve(wanted["env"], wanted["algo"], wanted, trust=trust, use_preset=False)
    _run_all(group.path, members, resolved, hooks)
    return Group(group.path)


def _run_all(path: Path, members: list[Member], resolved: Resolved, hooks: Sequence[Hook]) -> None:
    """As many members at a time as there are cores for; statuses in group.json as they change."""
    threads = resolved.run.threads
    at_once = max(1, available_cores() // (1 if isinstance(threads, str) else threads))
    waiting = [
        m for m in members if m.status != "finished" or "env_steps" in m.orders.get("resume", {})
    ]
    stopping, ended = threading.Event(), threading.Event()
    context = None if all_native(resolved) else multiprocessing.get_context("spawn")
    known: list[str] = []
    with _forwarded_signals(members, stopping) as signals:
        while True:
            running = [m for m in members if m.worker is not None and m.worker.is_alive()]
            while waiting and len(running) < at_once and not stopping.is_set():
                member = waiting.pop(0)
                if context is None:
                    member.worker = ThreadWorker(member.orders, member.path, ended)
                else:
                    member.worker = ProcessWorker(context, member.orders, member.path)
                running.append(member)
            statuses = [m.status for m in members]
            if statuses != known:
                _write(path, members)
                known = statuses
            if hooks:
                states = [_state(m, resolved.run.env_steps) for m in members]
                reasons = [hook.on_group(states) for hook in hooks]
                if any(reasons) and not stopping.is_set():
                    signals.ask(signal.SIGTERM)
            if not running:
                return
            wait_for_one([m.worker for m in running if m.worker], ended, POLL_SECONDS)


class _forwarded_signals:
    """Ctrl-C and its like reach every member, which save and end; a second ends them at once."""

    def __init__(self, members: list[Member], stopping: threading.Event) -> None:
        self.members, self.stopping = members, stopping
        self.before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}

    def __enter__(self) -> _forwarded_signals:
        if threading.current_thread() is threading.main_thread():
            for number in ending_signals():
                self.before[number] = signal.signal(number, self.ask)
        return self

    def ask(self, number: int, frame: FrameType | None = None) -> None:
        again = self.stopping.is_set()
        self.stopping.set()
        for member in self.members:
            if member.worker is not None and member.worker.is_alive():
                member.worker.ask(number, at_once=again)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        for member in self.members if kind is None else ():  # else at once: nobody is waited for
            if member.worker is not None:
                member.worker.join()


def _write(path: Path, members: list[Member]) -> None:
    write_group(path, [{"seed": m.seed, "path": m.path.name, "status": m.status} for m in members])


def _state(member: Member, budget: int) -> MemberState:
    row = last_row(member.path / "metrics.csv") if is_run(member.path) else {}
    env_steps = int(row.get("env_steps", 0))
    said = _said(member.path) if row else ""
    return MemberState(member.seed, member.status, env_steps, budget, row, member.path, said)


def _said(path: Path) -> str:
    """What was last found out about a run, from the end of its events."""
    for event in reversed(last_events(path / "events.jsonl")):
        if event.get("kind") in ("finding", "guard"):
            return str(event.get("says") or event.get("reason") or "")
    return ""
