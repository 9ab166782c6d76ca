"""Gathers metrics over a log interval and writes them as one row."""

from __future__ import annotations

import math
import sys
import time
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from dressage.core.collector import Episode
from dressage.runs.metrics import METRICS, aggregate_of
from dressage.runs.writer import RunWriter

FLUSH_SECONDS = 0.5  # after which rows that come fast are handed to the system, all at once
FAST_SECONDS = 0.05  # between rows: where they come slower each is handed over by itself
MEMORY_SECONDS = 1.0  # between two looks: where system calls are slow, this one is
WINDOW = 100  # episodes behind ep_rew_mean, as in SB3
PHASES = [name for name in METRICS if name.startswith("sys/time/")]


class Timed:
    """Adds the time spent within to a phase, in a quarter of what @contextmanager takes. One for
    each phase, which is never entered from within itself."""

    __slots__ = ("began", "phase", "recorder")

    def __init__(self, recorder: Recorder, phase: str) -> None:
        self.recorder, self.phase = recorder, phase

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.recorder.seconds[self.phase] += time.perf_counter() - self.began


class Recorder:
    """Holds partial sums between rows; checkpoints carry them, so that rows resume exactly."""

    def __init__(self, writer: RunWriter, log_every: int) -> None:
        self.writer, self.log_every = writer, log_every
        self.window: deque[Episode] = deque(maxlen=WINDOW)
        self.finished: list[Episode] = []  # in this interval
        self.episodes = 0
        self.best = -math.inf
        self.last_logged = 0
        self.totals: dict[str, float] = {}  # of this interval, by name; of a mean the sum
        self.counts: dict[str, int] = {}  # how many values are in it, where more than one
        self.row: dict[str, float] = {}  # the newest row, for displays and hooks
        # All phases from the first row on: a resumed run must not add columns in another order.
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._timed = {name.removeprefix("sys/time/"): Timed(self, name) for name in PHASES}
        self._interval_began, self._cpu_began = time.perf_counter(), time.process_time()
        self._memory_mb, self._memory_time = math.nan, -math.inf
        self._flush_time = -math.inf
        # Of the window, side by side: a hundred episodes lie all over the memory.
        self._returns, self._lengths = array("d"), array("q")
        self._of_window: dict[str, float] | None = {}  # its metrics; None: it has moved since

    def due(self, env_steps: int) -> bool:
        return env_steps - self.last_logged >= self.log_every

    def timed(self, phase: str) -> Timed:
        return self._timed[phase]

    def add(self, metrics: Mapping[str, float]) -> None:
        """Merges one iteration's metrics, each as the metric dictionary says."""
        totals, counts = self.totals, self.counts
        if totals.keys().isdisjoint(metrics) and set(map(type, metrics.values())) == {float}:
            totals.update(metrics)  # many intervals have but one iteration
            return
        for name, value in metrics.items():
            way = aggregate_of(name)
            if way == "mean":
                value = float(value)
            if name not in totals:
                totals[name] = value
                continue
            match way:
                case "mean" | "sum":
                    totals[name] += value
                case "max":
                    totals[name] = max(totals[name], value)
                case "min":
                    totals[name] = min(totals[name], value)
                case "last":
                    totals[name] = value
            counts[name] = counts.get(name, 1) + 1

    def add_episodes(self, episodes: Sequence[Episode]) -> None:
        if episodes:
            self._move_window(episodes)
            self.finished.extend(episodes)
            self.episodes += len(episodes)

    def _move_window(self, episodes: Sequence[Episode]) -> None:
        self.window.extend(episodes)
        self._returns.extend([e.episode_return for e in episodes])
        self._lengths.extend([e.length for e in episodes])
        del self._returns[:-WINDOW], self._lengths[:-WINDOW]
        self._of_window = None

    def write_row(self, lead: Mapping[str, float]) -> dict[str, float]:
        """Closes the interval: one row of metrics.csv and the interval's episodes."""
        for name, count in self.counts.items():
            if aggregate_of(name) == "mean":
                self.totals[name] /= count
        # The many first, which are copied as they lie; what counts the run wins over a user's own.
        row: dict[str, float] = {
            **self.totals,
            **self._episode_metrics(),
            **self.seconds,
            **lead,
            "episodes": self.episodes,
        }
        now = time.perf_counter()
        elapsed, cpu = now - self._interval_began, time.process_time()
        row["sys/env_steps_per_second"] = (lead["env_steps"] - self.last_logged) / elapsed
        row["sys/cpu_share"] = (cpu - self._cpu_began) / elapsed
        if now - self._memory_time >= MEMORY_SECONDS:
            self._memory_mb, self._memory_time = memory_mb(), now
        row["sys/memory_mb"] = self._memory_mb
        self._hand_over(row, now)
        self.finished, self.totals, self.counts = [], {}, {}
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.last_logged, self._interval_began = int(lead["env_steps"]), now
        self._cpu_began = cpu
        self.row = row
        return row

    def _hand_over(self, row: Mapping[str, float], now: float) -> None:
        self.writer.metrics_row(row)
        if self.finished:
            self.writer.episodes_rows(
                [
                    (at, total, length, "truncated" if truncated else "terminated", success, i)
                    for at, total, length, truncated, success, i in self.finished
                ]
            )
        fast = now - self._interval_began < FAST_SECONDS
        if not fast or now - self._flush_time >= FLUSH_SECONDS:
            self.writer.flush()
            self._flush_time = now

    def before_pause(self, seconds: float) -> None:
        """Readers do not wait for the rows until something is over that takes about so long."""
        if seconds >= FAST_SECONDS:
            self.writer.flush()

    def _episode_metrics(self) -> dict[str, float]:
        if self._of_window is None:
            self._of_window = self._window_metrics()
        metrics = {"train/roll/episodes": len(self.finished), **self._of_window}
        if self.finished:
            truncated = [e.truncated for e in self.finished]
            metrics["train/roll/truncated_share"] = sum(truncated) / len(truncated)
            known = [e.success for e in self.finished if not math.isnan(e.success)]
            if known:
                metrics["train/roll/success_rate"] = sum(known) / len(known)
        return metrics

    def _window_metrics(self) -> dict[str, float]:
        if not self.window:
            return {}
        returns = tuple(self._returns)
        count = len(returns)
        mean = math.fsum(returns) / count
        self.best = max(self.best, mean)
        return {
            "train/roll/ep_rew_mean": mean,
            "train/roll/ep_rew_best": self.best,
            "train/roll/ep_rew_std": math.dist(returns, (mean,) * count) / math.sqrt(count),
            "train/roll/ep_len_mean": sum(self._lengths) / count,
        }

    def state(self) -> dict[str, Any]:
        return {
            "window": [list(e) for e in self.window],
            "finished": [list(e) for e in self.finished],
            "episodes": self.episodes,
            "best": self.best,
            "last_logged": self.last_logged,
            "totals": {k: [value, self.counts.get(k, 1)] for k, value in self.totals.items()},
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self._move_window([_episode(e) for e in state["window"]])
        self.finished = [_episode(e) for e in state["finished"]]
        self.episodes, self.last_logged = state["episodes"], state["last_logged"]
        self.best = float(state["best"])
        self.totals = {k: float(v) for k, (v, _) in state["totals"].items()}
        self.counts = {k: n for k, (_, n) in state["totals"].items() if n > 1}


def _episode(row: Sequence[Any]) -> Episode:
    env_steps, episode_return, length, truncated, success, env_index = row
    return Episode(env_steps, float(episode_return), length, truncated, float(success), env_index)


def memory_mb() -> float:
    """Largest resident memory of this process so far; NaN on systems that do not tell."""
    try:
        import resource
    except ImportError:
        return math.nan
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)
