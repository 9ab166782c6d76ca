"""Where the time of an interval goes."""

from __future__ import annotations

import time

PHASES = ("collect", "update", "evaluate", "record")


class Phases:
    """One phase at a time, from `enter` to the next `enter`."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.phase, self.since = "collect", time.perf_counter()

    def enter(self, phase: str) -> str:
        """Returns the phase before."""
        now, before = time.perf_counter(), self.phase
        self.seconds[before] += now - self.since
        self.phase, self.since = phase, now
        return before

    def evaluated(self, began: float) -> None:
        """What has passed since `began` was an evaluation, inside of the phase in force."""
        now = time.perf_counter()
        began = max(began, self.since)
        self.seconds["evaluate"] += now - began
        self.seconds[self.phase] += began - self.since
        self.since = now

    def take(self) -> dict[str, float]:
        """Seconds since the last time, by metric."""
        self.enter(self.phase)
        found = {f"sys/time/{phase}": seconds for phase, seconds in self.seconds.items()}
        self.seconds = dict.fromkeys(PHASES, 0.0)
        return found
