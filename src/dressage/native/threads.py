"""How many threads an update gets: what has been fastest of late, since no result depends on it.

Two threads pay where a minibatch is large, and cost where the machine is busy with other things;
both can only be seen by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dressage.envs.process import available_cores

TRIES = 3  # updates that each choice is judged by; the fastest counts
AGAIN_AFTER = 100  # updates until the other choice is tried again
_cores: ContextVar[int | None] = ContextVar("cores", default=None)


@contextmanager
def cores(number: int) -> Iterator[None]:
    """Within, threads=auto uses at most so many: other members of a group have the rest."""
    before = _cores.set(number)
    try:
        yield
    finally:
        _cores.reset(before)


class Threads:
    """One thread, or all that may be had."""

    def __init__(self, asked: int | str) -> None:
        most = (_cores.get() or available_cores()) if isinstance(asked, str) else asked
        self.choices = [1, most] if isinstance(asked, str) and most > 1 else [most]
        self.best = dict.fromkeys(self.choices, 0.0)  # seconds of its fastest try
        self.now = self.choices[-1]
        self._left = TRIES
        self._trying = len(self.choices) > 1

    def took(self, seconds: float) -> None:
        """An update with `now` threads took so long; sets `now` for the next."""
        if len(self.choices) == 1:
            return
        best = self.best[self.now]
        first = self._left == TRIES and self._trying
        self.best[self.now] = seconds if first or best == 0.0 else min(best, seconds)
        self._left -= 1
        if self._left > 0:
            return
        if self._trying and self._untried():
            self.now, self._left = self._untried()[0], TRIES
            return
        if self._trying:  # all are known: the faster one stays for a while
            self.now = min(self.choices, key=lambda n: self.best[n])
            self._trying, self._left = False, AGAIN_AFTER
            self.best = dict.fromkeys(self.choices, 0.0)
            return
        self._trying, self._left = True, TRIES
        self.best = dict.fromkeys(self.choices, 0.0)

    def _untried(self) -> list[int]:
        return [n for n in self.choices if self.best[n] == 0.0]
