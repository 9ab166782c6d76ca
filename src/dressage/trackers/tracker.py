"""`Tracker`: a hook that copies a run's rows to a service beside the run directory.

The run directory is the record; a tracker is a copy for looking at. So it may fail without harm:
an error drops the tracker for the rest of the process, with a warning in events.jsonl and run.log.

A resumed run repeats the rows between its checkpoint and the stop, and an exact resume gives them
the same values. Each tracker therefore says in `open` up to where it holds rows already, and those
are not sent twice. See docs/guides/trackers.md for what each service can and cannot do.
"""

from __future__ import annotations

import atexit
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dressage.core.hooks import Hook, Moment

if TYPE_CHECKING:
    from dressage.runs.writer import RunWriter

PROJECT = "dressage"  # the name under which services gather our runs, unless theirs is set
ROW_MARK = "updates"  # a name that every row has, and no evaluation
EVALUATION_MARK = "val/roll/ep_rew_mean"  # the other way round


class Held(NamedTuple):
    """The largest env_steps of a row and an evaluation that the service has already; -1: none."""

    row: int = -1
    evaluation: int = -1


class Tracker(Hook, ABC):
    """A service's class overrides `open`, `send` and `shut`; everything that may fail is there."""

    name: ClassVar[str]

    def __init__(
        self, run_path: Path, config: Mapping[str, Any], writer: RunWriter | None = None
    ) -> None:
        self.run_path, self.config, self._writer = Path(run_path), dict(config), writer
        self.folder = self.run_path / "trackers" / self.name
        self._open = False
        self._held = Held()
        self._reached_return = False

    @classmethod
    def modules(cls) -> tuple[str, ...]:
        """What must be importable; imported in `open`, not before."""
        return (cls.name,)

    # -- what a service's class overrides --------------------------------------------------------

    @abstractmethod
    def open(self, env_steps: int) -> Held:
        """Begins, or goes on with, the service's record of a run that stands at `env_steps`."""

    @abstractmethod
    def send(self, env_steps: int, metrics: Mapping[str, float]) -> None: ...

    @abstractmethod
    def shut(self, outcome: str) -> None:
        """`outcome`: finished, stopped or failed."""

    # -- hooks -----------------------------------------------------------------------------------

    def on_start(self, moment: Moment) -> None:
        close_unfinished(self.folder)  # the same run failed in this process before
        self._open = True
        held = self._guarded(moment.env_steps, lambda: self.open(moment.env_steps))
        self._held = held or Held()
        if self._open:
            _UNFINISHED[self.folder] = self

    def on_row(self, moment: Moment) -> None:
        # Evaluations were sent when they were made, at their own env_steps.
        row = {k: v for k, v in moment.metrics.items() if not k.startswith("val/")}
        if moment.env_steps > self._held.row:
            self._send(moment.env_steps, row)

    def on_evaluation(self, moment: Moment) -> None:
        wanted = self.config.get("stop_at_return")
        mean = moment.metrics.get(EVALUATION_MARK, -math.inf)
        self._reached_return = wanted is not None and mean >= wanted
        if moment.env_steps > self._held.evaluation:
            self._send(moment.env_steps, moment.metrics)

    def on_end(self, moment: Moment) -> None:
        done = moment.env_steps >= moment.budget or self._reached_return
        self.close("finished" if done else "stopped", moment.env_steps)

    def close(self, outcome: str = "failed", env_steps: int = 0) -> None:
        """Tells the service how the run ended; a second call does nothing."""
        if self._open:
            self._guarded(env_steps, lambda: self.shut(outcome))
        self._open = False
        _UNFINISHED.pop(self.folder, None)

    # -- for the services' classes ---------------------------------------------------------------

    @property
    def run_name(self) -> str:
        """The run's id: its folder, with the group's before it for a member of a group."""
        group = self.group_name
        return f"{group}/{self.run_path.name}" if group else self.run_path.name

    @property
    def group_name(self) -> str | None:
        parent = self.run_path.resolve().parent
        return parent.name if (parent / "group.json").is_file() else None

    def remembered(self) -> dict[str, Any]:
        """What `remember` kept, in this process or an earlier one."""
        try:
            found = json.loads((self.folder / "dressage.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def remember(self, **values: Any) -> None:
        """Keeps values (the service's id of this run) beside what the service writes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / ".dressage.json.tmp"
        temporary.write_text(json.dumps(self.remembered() | values) + "\n", encoding="utf-8")
        os.replace(temporary, self.folder / "dressage.json")

    # --------------------------------------------------------------------------------------------

    def _send(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        numbers = {name: float(value) for name, value in metrics.items() if value is not None}
        self._guarded(env_steps, lambda: self.send(env_steps, numbers))

    def _guarded(self, env_steps: int, action: Callable[[], Any]) -> Any:
        if not self._open:
            return None
        try:
            return action()
        except Exception as error:
            self._open = False
            self._warn(env_steps, f"{type(error).__name__}: {error}")
            return None

    def _warn(self, env_steps: int, reason: str) -> None:
        if self._writer is None:
            return
        self._writer.event("warning", env_steps, tracker=self.name, reason=reason)
        self._writer.log(
            f"The tracker {self.name} failed at {env_steps} env steps and gets no more rows: "
            f"{reason}. Training goes on; the run directory has every row."
        )


# A run that raises has no on_end: what is still open when it resumes, or at exit, has failed.
_UNFINISHED: dict[Path, Tracker] = {}


@atexit.register
def close_unfinished(folder: Path | None = None) -> None:
    """Closes the tracker that writes `folder`, or all that are open."""
    for tracker in list(_UNFINISHED.values()):
        if folder is None or tracker.folder == folder:
            tracker.close("failed")


def flat(config: Mapping[str, Any]) -> dict[str, bool | float | str]:
    """Settings as hyperparameters that every service takes: numbers, flags and text."""
    return {
        key: value if isinstance(value, bool | int | float | str) else json.dumps(value)
        for key, value in config.items()
    }
