"""Labelled runs in little space: a zip a shard, of JSON and one array of numbers.

A run keeps at most `ROWS` rows of its log, evenly spaced, the first, the last and those with an
evaluation among them: real rows, not means. A number takes 16 bits: its sign and the logarithm of
its size in steps of 0.6 %, of which 1.0 is one; differences between rows are what is written, since
LZMA makes least of those.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.runs.readers import sb3
from dressage.runs.readers.assemble import solved_at
from dressage.runs.view import Episodes, RunView, Series

FOLDER = Path(__file__).parent / "runs"
ROWS = 64
BLOCKS, BLOCK = 10, 8  # of episodes that ended one after the other
STEP = 0.006  # ln of the ratio of neighbours
SMALLEST = math.exp(-5756 * STEP)  # about 1e-15; below it is zero
LARGEST_CODE = 32_000
MISSING, NAN, INFINITE, MINUS_INFINITE = 32_700, 32_701, 32_702, 32_703
LEFT_OUT = ("sys/time/prepare", "sys/time/checkpoint", "sys/memory_mb")
FORMAT = 2
BARE = "bare"  # in an outcome: nothing else was kept of the run

Codes = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]


@dataclass
class Stored:
    label: dict[str, Any]
    outcome: dict[str, Any]
    view: RunView


# -- numbers -------------------------------------------------------------------------------------


def encoded(values: Floats) -> Codes:
    size = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.rint(np.log(size / SMALLEST) / STEP)
    steps = np.where(size < SMALLEST, 0.0, np.clip(steps, 1, LARGEST_CODE))
    codes = np.where(np.isfinite(values), np.sign(values) * steps, NAN)
    codes[np.isposinf(values)], codes[np.isneginf(values)] = INFINITE, MINUS_INFINITE
    return codes.astype(np.int16)


def decoded(codes: Codes) -> Floats:
    values: Floats = np.sign(codes) * SMALLEST * np.exp(STEP * np.abs(codes.astype(np.float64)))
    for code, meaning in ((NAN, np.nan), (INFINITE, np.inf), (MINUS_INFINITE, -np.inf)):
        values[codes == code] = meaning
    return values


# -- one run -------------------------------------------------------------------------------------


def packed(stored: Stored) -> tuple[dict[str, Any], Codes]:
    """JSON and codes: the rows' metrics one after the other, then the episodes' returns."""
    view = stored.view
    names = [name for name in view.series if not name.startswith(LEFT_OUT)]
    measured = [view.series[name].env_steps for name in names]
    rows = kept_rows(view, np.unique(np.concatenate(measured)) if measured else np.empty(0))
    columns, codes = [], []
    for name in names:
        column = _column(view.series[name], rows)
        if (column != MISSING).any():
            columns.append(name)
            codes.append(column)
    kept = kept_episodes(len(view.episodes.returns))
    returns = encoded(view.episodes.returns[kept])
    ended = view.episodes.ended
    text = {
        "label": stored.label,
        "outcome": stored.outcome,
        "algo": view.algo,
        "env": view.env,
        "library": view.library,
        "config": view.config,
        "own_config": None if view.own_config == view.config else view.own_config,
        "own_names": view.own_names,
        "own_settings": view.own_settings,
        "unknown": [name for name in view.unknown if name in columns],
        "columns": columns,
        "rows": _differences(rows),
        "budget": view.budget,
        "env_steps": view.env_steps,
        "restarts": list(view.restarts),
        "state": view.state,
        "threshold": view.threshold,
        "spec": view.spec,
        "saved": view.saved,
        "events": view.events,
        "log_lines": view.log_lines,
        "notes": view.notes,
        "episode_steps": _differences(view.episodes.env_steps[kept]),
        "episode_lengths": [
            None if np.isnan(length) else int(length) for length in view.episodes.lengths[kept]
        ],
        "episode_ends": None if ended is None else "".join(str(word)[:2] for word in ended[kept]),
    }
    return text, np.concatenate([*codes, returns]) if codes else returns


def unpacked(text: dict[str, Any], codes: Codes) -> Stored:
    rows = np.cumsum(text["rows"], dtype=np.float64)
    count, columns = len(rows), text["columns"]
    series: dict[str, Series] = {}
    for i, name in enumerate(columns):
        column = codes[i * count : (i + 1) * count]
        there = column != MISSING
        series[name] = Series(rows[there], decoded(column[there]))
    steps = np.cumsum(text["episode_steps"], dtype=np.float64)
    lengths = np.array(text["episode_lengths"], np.float64)  # None becomes nan
    ends = text["episode_ends"]
    words = {"te": "terminated", "tr": "truncated"}
    ended = (
        None
        if ends is None
        else np.array([words.get(ends[i : i + 2], "") for i in range(0, len(ends), 2)])
    )
    episodes = Episodes(steps, decoded(codes[len(columns) * count :]), lengths, ended)
    plain = (
        "algo env library config own_names own_settings unknown budget env_steps restarts state "
        "threshold spec events log_lines notes"
    )
    given = {name: text[name] for name in plain.split()}
    given["saved"] = text.get("saved", {})  # not of runs from before they were kept
    given["threshold"] = given["threshold"] or solved_at(given["env"])
    own = text["config"] if text["own_config"] is None else text["own_config"]
    key = text["label"]["key"]
    view = RunView(Path(key), key, own_config=own, series=series, episodes=episodes, **given)
    if view.library == sb3.LIBRARY and own:  # as it is read today
        sb3.configure(view, own)
        view.env = given["env"]
    return Stored(text["label"], text["outcome"], view)


def kept_rows(view: RunView, grid: Floats) -> Floats:
    """Evenly spaced, with the first and the last, and those with an evaluation."""
    if not len(grid):
        return grid
    recorded = view["sys/time/record"].env_steps  # of a log of SB3: not at each of its rows
    grid = recorded if view.library == sb3.LIBRARY and len(recorded) else grid
    even = grid[np.unique(np.linspace(0, len(grid) - 1, ROWS).round().astype(int))]
    evaluated = view["val/roll/ep_rew_mean"].env_steps
    if len(evaluated) > ROWS // 3:
        evaluated = evaluated[np.linspace(0, len(evaluated) - 1, ROWS // 3).round().astype(int)]
    return np.union1d(even, evaluated)


def kept_episodes(count: int) -> npt.NDArray[np.int64]:
    """Blocks of neighbours, evenly spaced: what neighbours have in common is to be seen."""
    if count <= BLOCKS * BLOCK:
        return np.arange(count)
    starts = np.linspace(0, count - BLOCK, BLOCKS).round().astype(int)
    return np.unique((starts[:, None] + np.arange(BLOCK)).reshape(-1))


def _column(series: Series, rows: Floats) -> Codes:
    column = np.full(len(rows), MISSING, np.int16)
    place = np.searchsorted(rows, series.env_steps)
    inside = place < len(rows)
    hits = np.flatnonzero(inside)[rows[place[inside]] == series.env_steps[inside]]
    column[place[hits]] = encoded(series.values[hits])
    return column


def _differences(numbers: Floats) -> list[int]:
    return [int(n) for n in np.diff(numbers, prepend=0.0)]


# -- shards --------------------------------------------------------------------------------------


def write(path: Path, runs: Iterable[Stored]) -> None:
    """A shard; whole or not at all."""
    texts, arrays = [], []
    for run in runs:
        text, codes = packed(run)
        texts.append(text | {"codes": len(codes)})
        arrays.append(codes)
    joined = np.concatenate(arrays) if arrays else np.empty(0, np.int16)
    differences = np.diff(joined, prepend=np.int16(0))  # wraps around, and back again
    planes = np.stack([differences.view(np.uint16) >> 8, differences.view(np.uint16) & 255])
    lines = "\n".join(json.dumps(text, separators=(",", ":")) for text in texts)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("format", str(FORMAT))
        archive.writestr("runs.jsonl", lines)
        archive.writestr("codes.u8", planes.astype(np.uint8).tobytes())
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(buffer.getvalue())
    partial.replace(path)


def read(path: Path) -> Iterator[Stored]:
    with zipfile.ZipFile(path) as archive:
        texts = [json.loads(line) for line in archive.read("runs.jsonl").splitlines()]
        high, low = np.frombuffer(archive.read("codes.u8"), np.uint8).reshape(2, -1)
    differences = (high.astype(np.uint16) << 8 | low).view(np.int16)
    codes = np.cumsum(differences, dtype=np.int16)
    start = 0
    for text in texts:
        end = start + text["codes"]
        yield unpacked(text, codes[start:end])
        start = end


def labels(path: Path) -> list[tuple[dict[str, Any], list[str]]]:
    """Of each run its label and the names of its metrics."""
    with zipfile.ZipFile(path) as archive:
        texts = map(json.loads, archive.read("runs.jsonl").splitlines())
        return [(text["label"], text["columns"]) for text in texts]


def load(folder: Path = FOLDER) -> list[Stored]:
    """All runs, the newest of each key."""
    found = {run.label["key"]: run for path in sorted(folder.glob("*.zip")) for run in read(path)}
    return list(found.values())
