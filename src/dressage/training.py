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
from dressage.core.hooks import Hook
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
) -> Run:
    try:
        session = start_run(resolved, path, env=env, hooks=hooks, trust=trust)
    except BaseException:
        with suppress(OSError):
            path.rmdir()  # nothing was begun
        raise
    if not is_group(path.parent):
        with ending_with(session):
            set_last(path.parent, path.name)
    return _drive(session)


def train_resumed(
    run: Run | Group, overrides: dict[str, Any], *, env: Any, hooks: Sequence[Hook], trust: bool
) -> Run | Group:
    if isinstance(run, Group):
        from dressage.seeds import resume_group

        return resume_group(run, overrides, hooks=hooks, trust=trust)
    return _drive(resume_run(run, overrides, env=env, hooks=hooks, trust=trust))


def _drive(session: Session) -> Run:
    """Runs to the end, whatever the end is, and leaves a run that says so."""
    writer = session.writer
    with ending_with(session):
        with _stop_on_signals(session):
            outcome = session.trainer.run()
        writer.event("end", session.trainer.clock.env_steps, outcome=outcome)
        writer.status(
            "finished" if outcome in ("finished", "stop_at_return") else "stopped", outcome
        )
    session.close()
    return Run(writer.path)


@contextmanager
def _stop_on_signals(session: Session) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the run after its iteration, with a checkpoint; again: at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if session.trainer.stop_reason is not None:
            raise KeyboardInterrupt
        session.trainer.request_stop(signal.Signals(number).name)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
