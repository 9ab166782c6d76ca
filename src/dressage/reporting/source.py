"""Everything of a run directory that a report needs, read once and forgivingly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from dressage.errors import RunError
from dressage.math.summary import student_t_quantile
from dressage.reporting.document import Floats
from dressage.reporting.numbers import clean
from dressage.runs.run import Run

RETURN = "train/roll/ep_rew_mean"
EVALUATION = "val/roll/ep_rew_mean"
LARGEST = 1e100
T = TypeVar("T")


@dataclass(frozen=True)
class Evaluations:
    """The evaluations of a run in order; the interval is Student's over the episodes of each."""

    env_steps: Floats
    mean: Floats
    low: Floats  # nan where a spread is not known
    high: Floats
    episodes: Floats

    def __len__(self) -> int:
        return len(self.mean)


@dataclass
class RunData:
    run: Run
    id: str
    status: dict[str, Any]
    config: dict[str, Any]
    sources: Mapping[str, str]
    spec: dict[str, Any]
    system: dict[str, Any]
    metrics: dict[str, Floats]
    episodes: dict[str, Any]
    events: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)  # what is missing or damaged

    @property
    def env_steps(self) -> Floats:
        return self.metrics.get("env_steps", np.empty(0))

    @property
    def rows(self) -> int:
        return len(self.env_steps)

    @property
    def budget(self) -> float | None:
        return _finite(self.config.get("env_steps"))

    @property
    def threshold(self) -> float | None:
        return _finite(self.spec.get("reward_threshold"))

    @property
    def env(self) -> str:
        return clean(self.config.get("env") or self.spec.get("id") or "unknown environment", 120)

    @property
    def algo(self) -> str:
        return clean(self.config.get("algo") or "unknown", 60)

    @property
    def state(self) -> str:
        return clean(self.status.get("state", "unknown"), 40)

    def last(self, name: str) -> float | None:
        """The newest finite value of a metric."""
        values = self.metrics.get(name, np.full(self.env_steps.shape, np.nan))
        values = values[np.isfinite(values)]
        return float(values[-1]) if values.size else None

    def series(self, name: str) -> tuple[Floats, Floats]:
        """Where a metric was measured, and the values, infinities included."""
        values = self.metrics.get(name, np.full(self.env_steps.shape, np.nan))
        known = ~np.isnan(values) & np.isfinite(self.env_steps)
        return self.env_steps[known], values[known]

    def evaluations(self) -> Evaluations:
        nothing = np.full(self.rows, math.nan)
        at = np.isfinite(self.metrics.get(EVALUATION, nothing)) & np.isfinite(self.env_steps)
        mean, deviation, count = (
            self.metrics.get(name, nothing)[at]
            for name in (EVALUATION, "val/roll/ep_rew_std", "val/roll/episodes")
        )
        half = np.full(len(mean), math.nan)
        for i, (sd, n) in enumerate(zip(deviation.tolist(), count.tolist(), strict=True)):
            if math.isfinite(sd) and math.isfinite(n) and n >= 2:
                # the recorded deviation divides by n, the interval's by n - 1
                half[i] = student_t_quantile(0.975, int(n) - 1) * sd / math.sqrt(n - 1)
        return Evaluations(self.env_steps[at], mean, mean - half, mean + half, count)


def read(run: Run) -> RunData:
    notes: list[str] = []

    def attempt(what: Callable[[], T], otherwise: T) -> T:
        try:
            return what()
        except RunError as error:
            notes.append(clean(error))
            return otherwise

    columns: dict[str, Floats] = attempt(lambda: run.metrics(), {})
    metrics = {name: _bounded(values) for name, values in columns.items()}
    episodes: dict[str, Any] = attempt(run.episodes, {})
    if "env_steps" not in metrics:
        metrics = {}
    if not {"env_steps", "return", "length", "ended"} <= set(episodes) or not len(
        episodes["return"]
    ):
        episodes = {}
    for name in ("return", "length"):
        if episodes:
            episodes[name] = _bounded(episodes[name])
    nothing: dict[str, Any] = {}
    return RunData(
        run=run,
        id=clean(run.id, 200),
        status=run.status_details(),
        config=attempt(lambda: run.config, nothing),
        sources=attempt(lambda: run.sources, {}),
        spec=attempt(lambda: run.spec, nothing),
        system=attempt(lambda: run.system, nothing),
        metrics=metrics,
        episodes=episodes,
        events=attempt(run.events, []),
        notes=list(dict.fromkeys(notes)),
    )


def _bounded(values: Floats) -> Floats:
    """Without numbers so large that their sums and squares overflow: those count as infinite."""
    return np.where(np.abs(values) > LARGEST, np.copysign(np.inf, values), values)


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
