"""From tables and event files to a `RunView`: what every reader does with what it has read."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.metrics import BEFORE_OURS, METRICS
from dressage.runs.readers.clock import straighten
from dressage.runs.readers.event_files import Events
from dressage.runs.readers.names import Metric, Names
from dressage.runs.readers.tables import Table
from dressage.runs.table import Array
from dressage.runs.view import Episodes, RunView, Series, State

THRESHOLDS = {
    "CartPole-v1": 475.0, "Acrobot-v1": -100.0, "MountainCar-v0": -110.0, "LunarLander-v3": 200.0,
    "MountainCarContinuous-v0": 90.0, "LunarLanderContinuous-v3": 200.0, "BipedalWalker-v3": 300.0,
    "InvertedPendulum-v5": 950.0, "InvertedDoublePendulum-v5": 9100.0, "HalfCheetah-v5": 4800.0,
    "Hopper-v5": 3800.0,
}  # fmt: skip

WINDOW = 100  # episodes of a rolling mean
NOTES = 60  # of one view
LOG_LINES = 2000
FRESH = 120.0  # seconds since a file was written to, within which its run may still be going on
_FAMILIES = tuple(name.removesuffix("*") for name in METRICS if name.endswith("/*"))
_MARKS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x20-\x7e\xa0-\U0010ffff]")


def note(view: RunView, *sentences: str) -> None:
    """Adds what is not said yet."""
    for sentence in sentences:
        if sentence not in view.notes and len(view.notes) < NOTES:
            view.notes.append(sentence)


def pick_clock(table: Table, candidates: Iterable[str]) -> Array | None:
    """The column of env steps `[rows]`; rows that lack it have the last one."""
    for name in candidates:
        if name in table.columns:
            return table.dense(name)
    return None


def clock_or_rows(view: RunView, table: Table, candidates: Iterable[str]) -> Array:
    clock = pick_clock(table, candidates)
    if clock is not None:
        return clock
    if table.rows:
        note(
            view,
            f"{table.path.name} has no column of env steps: its rows are counted instead. "
            "--map env_steps=NAME tells which column it is.",
        )
    return np.arange(1.0, table.rows + 1)


def add_table(
    view: RunView, table: Table, clock: Array, names: Names, leave_out: Iterable[str] = ()
) -> None:
    """Every column of a table as a series."""
    note(view, *table.notes)
    straight = straighten(clock)
    _restarted(view, straight.restarts, straight.notes)
    place = np.full(table.rows, -1, np.int64)  # of each row among those that stay
    place[straight.keep] = np.arange(len(straight.keep))
    in_order = len(straight.keep) == table.rows and not (np.diff(straight.keep) < 0).any()
    left_out = set(leave_out)
    for name, column in table.columns.items():
        if name in left_out:
            continue
        if in_order:
            whole = len(column.rows) == table.rows
            steps = straight.clock if whole else straight.clock[column.rows]
            add_series(view, names, name, Series(steps, column.values))
            continue
        at = place[column.rows]
        order = np.argsort(at[at >= 0], kind="stable")
        values = column.values[at >= 0][order]
        add_series(view, names, name, Series(straight.clock[at[at >= 0][order]], values))


def add_events(view: RunView, events: Events, names: Names) -> None:
    """Every tag of event files as a series, by the steps it was logged with."""
    note(view, *events.notes)
    for tag, scalars in events.scalars.items():
        straight = straighten(scalars.steps)
        _restarted(view, straight.restarts, straight.notes)
        add_series(view, names, tag, Series(straight.clock, scalars.values[straight.keep]))
    if "wall_seconds" not in view.series:
        _add_time(view, events)


def _add_time(view: RunView, events: Events) -> None:
    """Seconds since the first event, from the tag that was logged most often."""
    longest = max(events.scalars.values(), key=lambda part: len(part.steps), default=None)
    if longest is None or not np.isfinite(longest.times).all():
        return
    straight = straighten(longest.steps)
    seconds = np.maximum.accumulate(longest.times[straight.keep])
    if len(seconds) > 1 and seconds[-1] > seconds[0]:
        view.series["wall_seconds"] = Series(straight.clock, seconds - seconds[0])


def _restarted(view: RunView, restarts: list[float], notes: list[str]) -> None:
    if len(restarts) > len(view.restarts):
        view.restarts = restarts
    if not view.restarts or restarts == view.restarts:
        note(view, *notes)


def add_series(view: RunView, names: Names, theirs: str, series: Series) -> None:
    """Under our name, in our sign and unit; under its own where we have none."""
    if not series:
        return
    row = names.find(theirs, view.algo) or _ours(theirs)
    if row is None or row.ours in view.series:
        if theirs not in view.series:
            view.series[theirs] = series
            view.unknown.append(theirs)
        return
    values = series.values if row.scale == 1.0 else series.values * row.scale
    view.series[row.ours] = Series(series.env_steps, values)
    view.own_names[row.ours] = theirs
    if row.note:
        note(view, row.note)


def _ours(name: str) -> Metric | None:
    """A name that is ours already, perhaps with our own name before it."""
    ours = name.removeprefix(BEFORE_OURS)
    known = ours in METRICS or ours.startswith(_FAMILIES)
    return Metric(name, ours) if known else None


def add_episodes(view: RunView, episodes: Episodes, a_return: str, a_length: str) -> None:
    """Single episodes, and the rolling means of return and length where the log has none.

    `a_return` and `a_length` are what the library calls them.
    """
    # Of several environments they may be written one environment after another.
    kept = np.flatnonzero(np.isfinite(episodes.env_steps))
    if not len(kept):
        return
    order = kept[np.argsort(episodes.env_steps[kept], kind="stable")]
    steps, returns, lengths, ended = episodes
    ended = None if ended is None else ended[order]
    episodes = view.episodes = Episodes(steps[order], returns[order], lengths[order], ended)
    for metric, name, values in (
        ("train/roll/ep_rew_mean", a_return, episodes.returns),
        ("train/roll/ep_len_mean", a_length, episodes.lengths),
    ):
        measured = np.isfinite(values)
        if metric in view.series or not measured.any():
            continue
        means = rolling_mean(values[measured])
        view.series[metric] = Series(episodes.env_steps[measured], means)
        view.own_names.setdefault(metric, name)
        note(view, f"{metric} is the mean of the last {WINDOW} single episodes of the log.")


def rolling_mean(values: Array, window: int = WINDOW) -> Array:
    """Mean of the last `window` values up to each, `[T]`."""
    total = np.cumsum(np.concatenate(([0.0], values)))
    end = np.arange(1, len(values) + 1)
    begin = np.maximum(end - window, 0)
    means: Array = (total[end] - total[begin]) / (end - begin)
    return means


def solved_at(env: str | None) -> float | None:
    """The return that solves a well-known task (Gymnasium's registry), for logs that do not say."""
    return THRESHOLDS.get(env or "")


def finish(view: RunView, files: Iterable[Path] = ()) -> RunView:
    """What follows from the rest: env steps done, the budget, how the run stands."""
    ends = [series.env_steps[-1] for series in view.series.values() if series]
    ends += [view.episodes.env_steps[-1]] if len(view.episodes.env_steps) else []
    view.env_steps = max([view.env_steps, *map(float, ends)])
    _add_speed(view)
    if view.budget is None:
        view.budget = positive(view.config.get("env_steps"))
    if view.threshold is None:
        view.threshold = solved_at(view.env)
    if view.state == "unknown":
        view.state = _guessed_state(view, files)
    view.notes = [_clean(sentence) for sentence in view.notes]
    return view


def _add_speed(view: RunView) -> None:
    """Env steps per second of each interval, where only the time is logged."""
    time_series, name = view["wall_seconds"], "sys/env_steps_per_second"
    if name in view.series or len(time_series.values) < 2:
        return
    seconds, steps = np.diff(time_series.values), np.diff(time_series.env_steps)
    told = seconds > 0
    if told.any():
        speed = steps[told] / seconds[told]
        view.series[name] = Series(time_series.env_steps[1:][told], speed)
        view.own_names[name] = view.own_name("wall_seconds")


def _guessed_state(view: RunView, files: Iterable[Path]) -> State:
    if view.budget is None or not view.env_steps:
        return "unknown"
    if view.env_steps >= 0.99 * view.budget:
        return "finished"
    newest = 0.0
    for path in files:
        try:
            newest = max(newest, path.stat().st_mtime)
        except OSError:
            continue
    if not newest:
        return "unknown"
    note(view, "Whether the run still goes on was guessed from when its files were written to.")
    return "running" if time.time() - newest < FRESH else "stopped"


def positive(value: Any) -> float | None:
    """A finite number above zero, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0 < number < math.inf else None


def add_log(view: RunView, text: str) -> None:
    """The last lines of a log for people, without marks that would steer a terminal."""
    lines = text.split("\n")
    view.log_lines += [_clean(line)[:2000] for line in lines[-LOG_LINES:] if line.strip()]


def _clean(text: str) -> str:
    return _MARKS.sub("", text)


def text_of(value: Any) -> str | None:
    """A short text, or None."""
    return _clean(value)[:200] if isinstance(value, str) and value.strip() else None


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """The first part that has a value counts."""
    found: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if found.get(key) is None:
                found[key] = value
    return found
