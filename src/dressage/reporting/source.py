"""Everything of a run that a report needs, read once and forgivingly."""

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
from dressage.runs.readers import own
from dressage.runs.run import Run
from dressage.runs.view import RunView

RETURN = "train/roll/ep_rew_mean"
EVALUATION = "val/roll/ep_rew_mean"
OURS = own.LIBRARY
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
    id: str
    name: str  # of its folder
    library: str
    status: dict[str, Any]
    config: dict[str, Any]  # in our words
    settings: dict[str, Any]  # in the words of its library
    sources: Mapping[str, str]
    spec: dict[str, Any]
    system: dict[str, Any]
    metrics: dict[str, Floats]  # what was measured of each
    clocks: dict[str, Floats]  # and at how many env steps
    episodes: dict[str, Any]
    events: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)  # what is missing or damaged

    @property
    def ours(self) -> bool:
        return self.library == OURS

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
    def env_is_known(self) -> bool:
        return bool(self.config.get("env") or self.spec.get("id"))

    @property
    def episodes_ended(self) -> float | None:
        """By the counter, which stands still between two rows, or as many as are known singly."""
        counted = self.last("episodes")
        known = float(len(self.episodes["return"])) if self.episodes else None
        return max((count for count in (counted, known) if count is not None), default=None)

    @property
    def algo(self) -> str:
        return clean(self.config.get("algo") or "unknown", 60)

    @property
    def task(self) -> str:
        """Environment and algorithm, for a title."""
        match self.env_is_known, bool(self.config.get("algo")):
            case False, False:
                return "An unknown environment and algorithm"
            case False, True:
                return f"An unknown environment, {self.algo.upper()}"
            case True, False:
                return f"{self.env}, an unknown algorithm"
        return f"{self.env}, {self.algo.upper()}"

    @property
    def state(self) -> str:
        return clean(self.status.get("state", "unknown"), 40)

    def last(self, name: str) -> float | None:
        """The newest finite value of a metric."""
        values = self.metrics.get(name, np.empty(0))
        values = values[np.isfinite(values)]
        return float(values[-1]) if values.size else None

    def series(self, name: str) -> tuple[Floats, Floats]:
        """Where a metric was measured, and the values, infinities included."""
        values, x = self.metrics.get(name, np.empty(0)), self.clocks.get(name, np.empty(0))
        known = ~np.isnan(values) & np.isfinite(x)
        return x[known], values[known]

    def values_at(self, name: str, places: Floats) -> Floats:
        """A metric at these env steps; nan where it was not measured there."""
        x, values = self.series(name)
        if not len(x):
            return np.full(len(places), math.nan)
        at = np.minimum(np.searchsorted(x, places), len(x) - 1)
        return np.where(x[at] == places, values[at], math.nan)

    def evaluations(self) -> Evaluations:
        x, mean = self.series(EVALUATION)
        x, mean = x[np.isfinite(mean)], mean[np.isfinite(mean)]
        deviation = self.values_at("val/roll/ep_rew_std", x)
        count = self.values_at("val/roll/episodes", x)
        half = np.full(len(mean), math.nan)
        for i, (sd, n) in enumerate(zip(deviation.tolist(), count.tolist(), strict=True)):
            if math.isfinite(sd) and math.isfinite(n) and n >= 2:
                # the recorded deviation divides by n, the interval's by n - 1
                half[i] = student_t_quantile(0.975, int(n) - 1) * sd / math.sqrt(n - 1)
        return Evaluations(x, mean, mean - half, mean + half, count)


def read(run: Run) -> RunData:
    """A run of ours."""
    return from_view(view_of(run))


def view_of(run: Run) -> RunView:
    """A run of ours, whatever its files are like."""
    try:
        return own.read(run)
    except RunError as error:
        return RunView(run.path, run.id, OURS, notes=[clean(error)])


def from_view(view: RunView) -> RunData:
    """A run of any library, as its reader has seen it."""
    notes = [clean(note) for note in view.notes]

    def attempt(what: Callable[[], T], otherwise: T) -> T:
        try:
            return what()
        except RunError as error:
            notes.append(clean(error))
            return otherwise

    metrics = {name: bounded(series.values) for name, series in view.series.items()}
    clocks = {name: series.env_steps for name, series in view.series.items()}
    longest = max(clocks.values(), key=len, default=np.empty(0))
    if len(longest):
        metrics, clocks = {"env_steps": longest, **metrics}, {"env_steps": longest, **clocks}
    config = {"env": view.env, "algo": view.algo, "env_steps": view.budget, **view.config}
    config = {name: value for name, value in config.items() if value is not None}
    spec = view.spec | ({} if view.threshold is None else {"reward_threshold": view.threshold})
    status: dict[str, Any] = {"state": view.state}
    sources: Mapping[str, str] = dict.fromkeys(view.own_config, view.library)
    system: dict[str, Any] = {}
    if view.library == OURS and (view.path / "config.json").is_file():
        run = Run(view.path)
        status = run.status_details()
        sources = attempt(lambda: run.sources, {})
        system = attempt(lambda: run.system, system)
        config = view.config
    return RunData(
        id=clean(view.id, 200),
        name=view.path.name,
        library=clean(view.library, 60),
        status=status,
        config=config,
        settings=view.own_config,
        sources=sources,
        spec=spec,
        system=system,
        metrics=metrics,
        clocks=clocks,
        episodes=_episodes(view),
        events=view.events,
        notes=list(dict.fromkeys(notes)),
    )


def _episodes(view: RunView) -> dict[str, Any]:
    env_steps, returns, lengths, ended = view.episodes
    if not len(returns):
        return {}
    return {
        "env_steps": env_steps,
        "return": bounded(returns),
        "length": bounded(lengths),
        "ended": np.full(len(returns), "") if ended is None else ended,
    }


def bounded(values: Floats) -> Floats:
    """Without numbers so large that their sums and squares overflow: those count as infinite."""
    return np.where(np.abs(values) > LARGEST, np.copysign(np.inf, values), values)


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
