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


@dataclass
class Deadline:
    """When a probe has to come to an end, and whether it was cut short by it."""

    end: float
    reached: bool = False

    @classmethod
    def within(cls, seconds: float) -> Deadline:
        return cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        return self.end - time.perf_counter()

    def over(self) -> bool:
        """Asked where there is more to do: it is then cut short."""
        if self.left <= 0.0:
            self.reached = True
        return self.reached

    def part(self, seconds: float) -> Deadline:
        """One for a part of the work; not reaching its end cuts nothing short."""
        return Deadline(min(self.end, time.perf_counter() + seconds))
