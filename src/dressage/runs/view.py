"""`RunView`: any run, of ours or of another library, in one form. Readers make it; diagnosis,
comparison and advice read it.

Series are named as in `runs/metrics.py`, settings as in our own config. What a log has beside those
is kept under its own name, and `not_visible` says what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dressage.runs.algorithms import family_of
from dressage.runs.metrics import BEFORE_OURS, METRICS
from dressage.runs.table import Array
from dressage.runs.uses import USES, Use, first_of

State = Literal["finished", "stopped", "running", "crashed", "unknown"]


class Series(NamedTuple):
    """One metric over the run: only the cells that were measured, in the order of env steps.

    A value may be nan or infinite where that is what was measured. Two values may have the same
    env_steps (episodes that ended together).
    """

    env_steps: Array  # float64 [T]
    values: Array  # float64 [T]

    def __bool__(self) -> bool:
        return bool(len(self.values))


class Episodes(NamedTuple):
    """Single episodes in the order in which they ended."""

    env_steps: Array  # float64 [T], at which each ended
    returns: Array  # float64 [T]
    lengths: Array  # float64 [T], nan if unknown
    ended: Array | None = None  # text [T], "terminated" or "truncated"; None if unknown


NO_EPISODES = Episodes(np.empty(0), np.empty(0), np.empty(0))


class Missing(NamedTuple):
    """What a diagnosis would look at and this log does not hold."""

    metric: str
    meaning: str
    how: str  # what to log, or which probe shows it


@dataclass
class RunView:
    path: Path
    id: str
    # dressage, sb3, cleanrl, rllib, tianshou, gymnasium-solver, wandb, mlflow, table, unknown
    library: str
    algo: str | None = None  # our spelling
    env: str | None = None
    config: dict[str, Any] = field(default_factory=dict)  # our names; schedules as our text
    own_config: dict[str, Any] = field(default_factory=dict)  # as the library wrote it, flat
    series: dict[str, Series] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)  # names of series that are the log's own
    own_names: dict[str, str] = field(default_factory=dict)  # of metrics, by ours
    own_settings: dict[str, str] = field(default_factory=dict)  # of settings, by ours
    budget: float | None = None  # env steps planned
    env_steps: float = 0.0  # env steps done
    restarts: list[float] = field(default_factory=list)  # env_steps at which the clock began anew
    state: State = "unknown"
    episodes: Episodes = NO_EPISODES
    events: list[dict[str, Any]] = field(default_factory=list)
    log_lines: list[str] = field(default_factory=list)
    weights: list[Path] = field(default_factory=list)  # checkpoints and model files, oldest first
    saved: dict[str, float] = field(default_factory=dict)  # numbers of a model whose file is gone
    threshold: float | None = None  # return at which the task counts as solved
    spec: dict[str, Any] = field(default_factory=dict)  # spaces, time limit, if known
    notes: list[str] = field(default_factory=list)  # what was left out or guessed, in sentences
    # What was worked out of all this, by who looks at it; a copy with other contents begins anew.
    worked_out: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def family(self) -> str:
        return family_of(self.algo)

    def __getitem__(self, metric: str) -> Series:
        """A metric's series; empty where it was not measured."""
        return self.series.get(metric, EMPTY)

    def __contains__(self, metric: object) -> bool:
        return metric in self.series

    def own_name(self, metric: str) -> str:
        """What the run's own library calls a metric; our name where it has none."""
        return self.own_names.get(metric, metric)

    def own_setting(self, setting: str) -> str:
        """What the run's own library calls a setting; our name where it has none."""
        return self.own_settings.get(setting, setting)

    @property
    def progress(self) -> float | None:
        """Share of the budget that is done."""
        return self.env_steps / self.budget if self.budget else None

    @cached_property
    def seed(self) -> int | None:
        seed = self.config.get("seed")
        return seed if isinstance(seed, int) else None

    def visible(self) -> list[str]:
        """The metrics of our dictionary that this log holds."""
        unknown = set(self.unknown)
        return [name for name in self.series if name not in unknown]

    def not_visible(self) -> list[Missing]:
        """The metrics that a diagnosis of this family would use and that this log lacks."""
        recorded = any(name.startswith(BEFORE_OURS) for name in self.own_names.values())
        return [
            Missing(use.metric, METRICS[use.metric].meaning, use.how(self.library, recorded))
            for use in uses_of(self.family)
            if first_of(use.metric, self.series) is None and not use.known_from(self.config)
        ]

    def what_to_log(self) -> dict[str, list[str]]:
        """The metrics that this log lacks, by what makes them visible."""
        found: dict[str, list[str]] = {}
        for missing in self.not_visible():
            found.setdefault(missing.how, []).append(missing.metric)
        return found


EMPTY = Series(np.empty(0), np.empty(0))


def uses_of(family: str) -> Iterable[Use]:
    """What a diagnosis of a family looks at; of an unknown one, what all of them have."""
    return (use for use in USES if family in use.families or use.for_all)
