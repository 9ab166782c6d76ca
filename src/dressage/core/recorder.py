"""Gathers metrics over a log interval and writes them as one row."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from dressage.core.collector import Episode
from dressage.runs.metrics import METRICS, aggregate_of
from dressage.runs.writer import RunWriter

MEMORY_SECONDS = 1.0  # between two looks: where system calls are slow, this one is
WINDOW = 100  # episodes behind ep_rew_mean, as in SB3
PHASES = [name for name in METRICS if name.startswith("sys/time/")]


class Recorder:
    """Holds partial sums between rows; checkpoints carry them, so that rows resume exactly."""

    def __init__(self, writer: RunWriter, log_every: int) -> None:
        self.writer, self.log_every = writer, log_every
        self.window: deque[Episode] = deque(maxlen=WINDOW)
        self.finished: list[Episode] = []  # in this interval
        self.episodes = 0
        self.best = -math.inf
        self.last_logged = 0
        self.totals: dict[str, list[float]] = {}  # name -> [aggregate, count]
        self.row: dict[str, float] = {}  # the newest row, for displays and hooks
        # All phases from the first row on: a resumed run must not add columns in another order.
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._interval_began = time.perf_counter()
        self._memory_mb, self._memory_time = math.nan, -math.inf

    def due(self, env_steps: int) -> bool:
        return env_steps - self.last_logged >= self.log_every

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        key = f"sys/time/{phase}"
        self.seconds[key] = self.seconds.get(key, 0.0) + time.perf_counter() - began

    def add(self, metrics: Mapping[str, float]) -> None:
        """Merges one iteration's metrics, each as the metric dictionary says."""
        for name, value in metrics.items():
            entry = self.totals.get(name)
            if entry is None:
                self.totals[name] = [value, 1]
                continue
            match aggregate_of(name):
                case "mean" | "sum":
                    entry[0] += value
                case "max":
                    entry[0] = max(entry[0], value)
                case "min":
                    entry[0] = min(entry[0], value)
                case "last":
                    entry[0] = value
            entry[1] += 1

    def add_episodes(self, episodes: Sequence[Episode]) -> None:
        self.window.extend(episodes)
        self.finished.extend(episodes)
        self.episodes += len(episodes)

    def write_row(self, lead: Mapping[str, float]) -> dict[str, float]:
        """Closes the interval: one row of metrics.csv and the interval's episodes."""
        row: dict[str, float] = {**lead, "episodes": self.episodes}
        row |= self._episode_metrics()
        for name, (value, count) in self.totals.items():
            row[name] = value / count if aggregate_of(name) == "mean" else value
        now = time.perf_counter()
        row |= self.seconds
        row["sys/env_steps_per_second"] = (lead["env_steps"] - self.last_logged) / (
            now - self._interval_began
        )
        if now - self._memory_time >= MEMORY_SECONDS:
            self._memory_mb, self._memory_time = memory_mb(), now
        row["sys/memory_mb"] = self._memory_mb
        self.writer.metrics_row(in_dictionary_order(row))
        self.writer.episodes_rows(
            [
                (at, total, length, "truncated" if truncated else "terminated", success, i)
                for at, total, length, truncated, success, i in self.finished
            ]
        )
        self.finished, self.totals, self.seconds = [], {}, dict.fromkeys(PHASES, 0.0)
        self.last_logged, self._interval_began = int(lead["env_steps"]), now
        self.row = row
        return row

    def _episode_metrics(self) -> dict[str, float]:
        count = len(self.window)
        metrics: dict[str, float] = {"train/roll/episodes": len(self.finished)}
        if not count:
            return metrics
        returns = [e.episode_return for e in self.window]
        mean = math.fsum(returns) / count
        self.best = max(self.best, mean)
        metrics |= {
            "train/roll/ep_rew_mean": mean,
            "train/roll/ep_rew_best": self.best,
            "train/roll/ep_rew_std": math.sqrt(math.fsum((r - mean) ** 2 for r in returns) / count),
            "train/roll/ep_len_mean": sum(e.length for e in self.window) / count,
        }
        if self.finished:
            metrics["train/roll/truncated_share"] = sum(e.truncated for e in self.finished) / len(
                self.finished
            )
            known = [e.success for e in self.finished if not math.isnan(e.success)]
            if known:
                metrics["train/roll/success_rate"] = sum(known) / len(known)
        return metrics

    def state(self) -> dict[str, Any]:
        return {
            "window": [list(e) for e in self.window],
            "finished": [list(e) for e in self.finished],
            "episodes": self.episodes,
            "best": self.best,
            "last_logged": self.last_logged,
            "totals": self.totals,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self.window = deque((_episode(e) for e in state["window"]), maxlen=WINDOW)
        self.finished = [_episode(e) for e in state["finished"]]
        self.episodes, self.last_logged = state["episodes"], state["last_logged"]
        self.best = float(state["best"])
        self.totals = {k: [float(v), n] for k, (v, n) in state["totals"].items()}


def _episode(row: Sequence[Any]) -> Episode:
    env_steps, episode_return, length, truncated, success, env_index = row
    return Episode(env_steps, float(episode_return), length, truncated, float(success), env_index)


_ORDER = {name: i for i, name in enumerate(METRICS)}


def _place(name: str) -> tuple[int, str]:
    if name in _ORDER:
        return _ORDER[name], name
    family = name.rpartition("/")[0] + "/*"
    return _ORDER.get(family, len(_ORDER)), name


@lru_cache(maxsize=256)
def _in_order(names: tuple[str, ...]) -> list[str]:
    return sorted(names, key=_place)


def in_dictionary_order(row: Mapping[str, float]) -> dict[str, float]:
    """So that the header does not depend on who computed the metrics, or in which order."""
    return {name: row[name] for name in _in_order(tuple(row))}


def memory_mb() -> float:
    """Largest resident memory of this process so far; NaN on systems that do not tell."""
    try:
        import resource
    except ImportError:
        return math.nan
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)
