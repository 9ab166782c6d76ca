"""What is probed: a run, its environment, and its algorithm where that is one of ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dressage.diagnosis.probes.practice import Practice
from dressage.envs.make import EnvRecipe
from dressage.runs.view import RunView

# practise(recipe, settings, engine, checkpoint): the run's algorithm with some settings changed,
# fresh or as its newest checkpoint left it.
Practise = Callable[[EnvRecipe, Mapping[str, Any], str, bool], Practice]


@dataclass(frozen=True)
class Subject:
    view: RunView
    recipe: EnvRecipe
    practise: Practise | None = None
    why_not: str = ""  # why the algorithm cannot be run
    settings: Mapping[str, Any] | None = None  # the whole config of the run
    has_checkpoint: bool = False

    def setting(self, name: str, default: Any = None) -> Any:
        return (self.settings or self.view.config).get(name, default)


PATIENCE = 2.0  # times its limit that a probe may take where others keep the machine busy


@dataclass
class Deadline:
    """When a probe has to come to an end, and whether it was cut short by it.

    Limits are of this process's own time, so that a busy machine does not decide what is found, and
    of the clock's, which may show twice as much.
    """

    end: float  # by the clock
    own_end: float  # by the process's own time
    reached: bool = False

    @classmethod
    def within(cls, seconds: float, patience: float = PATIENCE) -> Deadline:
        return cls(time.perf_counter() + patience * seconds, time.process_time() + seconds)

    @property
    def left(self) -> float:
        return min(self.end - time.perf_counter(), self.own_end - time.process_time())

    def over(self) -> bool:
        """Asked where there is more to do: it is then cut short."""
        if self.left <= 0.0:
            self.reached = True
        return self.reached

    def part(self, seconds: float) -> Deadline:
        """One for a part of the work; not reaching its end cuts nothing short."""
        one = Deadline.within(seconds)
        return Deadline(min(self.end, one.end), min(self.own_end, one.own_end))
