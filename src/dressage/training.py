"""Training runs from start to end: new, resumed, and groups of seeds."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from dressage.assemble import Session, ending_with, resume_run, start_run
from dressage.core.ending import ending_signals
from dressage.core.hooks import Hook
from dressage.core.long_episodes import watch_long_episodes
from dressage.presets.resolve import Resolved
from dressage.runs.find import set_last
from dressage.runs.group import Group, is_group
from dressage.runs.run import Run


def train_new(
    resolved: Resolved,
    path: Path,
    *,
    env: Any = None,
    hooks: Sequence[Hook] = (),
    trust: bool = True,
    stop: Stop | None = None,
) -> Run:
    with _stop_on_signals(stop) as stop:
        try:
            session = start_run(resolved, path, env=env, hooks=hooks, trust=trust)
        except BaseException:
            with suppress(OSError):
                path.rmdir()  # nothing was begun
            raise
        if not is_group(path.parent):
            with ending_with(session):
                set_last(path.parent, path.name)
        return _drive(session, stop)


def train_resumed(
    run: Run | Group,
    overrides: dict[str, Any],
    *,
    env: Any,
    hooks: Sequence[Hook],
    trust: bool,
    stop: Stop | None = None,
    member_hooks: str = "",
) -> Run | Group:
    if isinstance(run, Group):
        from dressage.seeds import resume_group

        return resume_group(run, overrides, hooks=hooks, trust=trust, member_hooks=member_hooks)
    with _stop_on_signals(stop) as stop:
        return _drive(resume_run(run, overrides, env=env, hooks=hooks, trust=trust), stop)


def _drive(session: Session, stop: Stop) -> Run:
    """Runs to the end, whatever the end is, and leaves a run that says so."""
    writer = session.writer
    with ending_with(session):
        stop.reaches(session)
        watch_long_episodes(session.trainer)
        outcome = session.trainer.run()
        writer.event("end", session.trainer.clock.env_steps, outcome=outcome)
        if outcome in ("finished", "stop_at_return"):
            writer.status("finished", outcome)
        else:
            writer.status("halted" if session.trainer.halted else "stopped", outcome)
    session.close()
    return Run(writer.path)


class Stop:
    """A wish to end, a signal's most often, kept until there is a session that can end cleanly."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.session: Session | None = None

    def reaches(self, session: Session) -> None:
        self.session = session
        if self.reason is not None:
            session.trainer.request_stop(self.reason)

    def ask(self, number: int, frame: FrameType | None = None) -> None:
        if self.reason is not None:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number).name
        if self.session is not None:
            self.session.trainer.request_stop(self.reason)


@contextmanager
def _stop_on_signals(given: Stop | None) -> Iterator[Stop]:
    """Ctrl-C and its like end the run after its iteration, with a checkpoint; again: at once.

    `given`: somebody else listens, and asks.
    """
    stop = given or Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.ask) for number in ending_signals()}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
