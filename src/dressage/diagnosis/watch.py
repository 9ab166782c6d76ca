"""Watches a run while it trains: the top finding beside its progress, and the guard.

The guard sees every row, which costs microseconds, and decides by numbers that training determines,
so that it acts at the same env steps whenever the run is repeated or resumed. A diagnosis of the
whole log costs tens of milliseconds: one is made from time to time, at most `LARGEST_SHARE` of the
time; it is shown and recorded, and decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from dressage.core.hooks import Hook, Moment
from dressage.diagnosis.guard import Guard
from dressage.errors import DressageError
from dressage.runs.run import Run

FIRST = 90.0  # seconds of training before the first diagnosis: it imports the rules
PAUSE = 5.0  # seconds between two at least
LARGEST_SHARE = 0.003  # of the time may go into them
EARLIEST = 0.1  # share of the budget before which a log says too little
SURE = 0.5  # probability from which a cause is worth a line


def hooks_for(config: Mapping[str, Any]) -> list[Hook]:
    """What `guard` in a run's config asks for."""
    guard = config.get("guard", "warn")
    return [] if guard == "off" else [Watch(stops=guard == "stop")]


class Watch(Hook):
    def __init__(self, stops: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.stops, self.clock = stops, clock
        self.guard: Guard | None = None
        self.stored: Mapping[str, Any] | None = None  # of a checkpoint, until the run starts
        self.reason = ""  # what the guard has said
        self.cause: str | None = None  # the newest finding
        self.next_look = 0.0

    def on_start(self, moment: Moment) -> None:
        self.guard = Guard(moment.budget, _learning_rate(moment))
        if self.stored:
            self.guard.load(self.stored)
        self.next_look = self.clock() + FIRST

    def on_row(self, moment: Moment) -> None:
        if self.guard is None:
            return
        if (reason := self.guard.see(moment.metrics)) and not self.reason:
            self.reason = reason
            moment.event("guard", reason=reason, stops=self.stops)
            moment.say(reason)
        if reason and self.stops:
            moment.halt(reason)
        elif not self.reason and self.clock() >= self.next_look:
            self._look(moment)

    def _look(self, moment: Moment) -> None:
        began = self.clock()
        if moment.progress >= EARLIEST:
            cause, probability, says = top_finding(moment)
            if cause != self.cause:
                self.cause = cause
                moment.event("finding", cause=cause, probability=probability, says=says)
                moment.say(says)
        now = self.clock()
        self.next_look = now + max(PAUSE, (now - began) / LARGEST_SHARE)

    def state(self) -> dict[str, Any]:
        return self.guard.state() if self.guard is not None else {}

    def load(self, state: Mapping[str, Any]) -> None:
        self.stored = state


def _learning_rate(moment: Moment) -> Any:
    try:
        return Run(moment.path).config.get("learning_rate")
    except DressageError:
        return None


def top_finding(moment: Moment) -> tuple[str | None, float, str]:
    """The leading cause of a run that goes on, its probability, and a line about it."""
    from dressage.diagnosis.causes import CAUSES
    from dressage.diagnosis.diagnose import diagnose
    from dressage.runs.readers import own

    nothing = (None, 0.0, "")
    try:
        found = diagnose(own.read(Run(moment.path)))
    except DressageError:  # a file that is being replaced
        return nothing
    if found.verdict != "faulty" or not found.causes or found.causes[0].probability < SURE:
        return nothing
    top = found.causes[0]
    line = f"likely {CAUSES[top.id].title} ({top.id}, {top.probability:.0%})"
    return top.id, round(top.probability, 4), line
