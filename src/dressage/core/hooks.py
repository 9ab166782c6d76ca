"""What a hook (a display, a tracker, a person's callback) sees of a run, and may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Moment:
    """The state of a run when a hook is called; it may `log`, `stop` and ask for a `checkpoint`."""

    env_steps: int
    budget: int
    updates: int
    episodes: int
    wall_seconds: float
    metrics: Mapping[str, float]  # of the newest row, iteration or evaluation
    path: Path  # of the run
    log: Callable[[str, float], None]  # adds a metric to the current interval
    stop: Callable[[str], None]  # ends the run cleanly after this iteration, with a reason
    checkpoint: Callable[[], None]  # asks for a checkpoint after this iteration
    policy: Any = None  # the learner, for those who must look inside
    event: Callable[..., None] = lambda kind, **data: None  # writes to events.jsonl
    halt: Callable[[str], None] = lambda reason: None  # as `stop`: a run that cannot recover
    say: Callable[[str], None] = lambda text: None  # what displays show beside the progress
    said: str = ""

    @property
    def progress(self) -> float:
        return self.env_steps / self.budget


@dataclass(frozen=True)
class MemberState:
    """How one seed of a group stands, as its files tell."""

    seed: int
    status: str  # waiting, running, finished, stopped, halted, failed, crashed
    env_steps: int
    budget: int
    metrics: Mapping[str, float]  # of its newest row
    path: Path
    said: str = ""  # beside its progress


class Hook:
    """Override what you need. State that must survive a resume goes into `state` and `load`."""

    def on_start(self, moment: Moment) -> None: ...

    def on_iteration(self, moment: Moment) -> None: ...

    def on_row(self, moment: Moment) -> None: ...

    def on_evaluation(self, moment: Moment) -> None: ...

    def on_checkpoint(self, moment: Moment) -> None: ...

    def on_end(self, moment: Moment) -> None: ...

    def close(self) -> None:
        """Called last, whatever the end: after `on_end`, or alone where the run failed."""

    def on_group(self, members: Sequence[MemberState]) -> str | None:
        """Called a few times a second, instead of the above, while a group of seeds trains. A
        reason ends all of them, each with a checkpoint."""
        return None

    def state(self) -> dict[str, Any]:
        """JSON; saved with each checkpoint."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None: ...
