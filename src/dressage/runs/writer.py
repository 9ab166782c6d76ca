"""Writing a run directory: what does not change is replaced as a whole, what grows is appended.

metrics.csv is plain CSV whose header is its first line, so any reader takes it; its format
version stands in config.json. A metric that appears in mid-run adds a column at the end of every
line, which is why the offsets of a checkpoint hold the number of columns beside the bytes: a
resume first drops the columns that came later, and then cuts at the offset.

Rows wait in memory for `flush`, which everything calls that tells where the files end or that is
written after them: an event, a status, a checkpoint's offsets, the end. A killed process loses the
rows that waited; they are younger than its newest checkpoint, so that a resume makes them again.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.runs import checkpoint
from dressage.runs.files import (
    AppendLog,
    at_once,
    json_text,
    read_bytes,
    read_json,
    sync_folder,
    write_atomic,
    write_json,
    writing,
)
from dressage.runs.lock import RunLock
from dressage.runs.metrics import LEAD_COLUMNS, place

FORMAT = 1
FORMATS = {"metrics.csv": 1, "episodes.csv": 1, "events.jsonl": 1, "checkpoint": checkpoint.FORMAT}
EPISODE_COLUMNS = ("env_steps", "return", "length", "ended", "success", "env_index")
EPISODES_PER_INTERVAL = 100
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
STATES = ("running", "finished", "stopped", "halted", "failed")
LOGS = ("metrics.csv", "episodes.csv", "events.jsonl", "run.log")
COLUMNS_KEY = "metrics.csv#columns"


def now() -> str:
    """This moment in UTC, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def format_cell(value: Any) -> str:
    """The shortest text that reads back as the same number; nothing for None."""
    if type(value) is float:  # as most are
        return repr(value)
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(int(value))
    return repr(float(value))


class RunWriter:
    """Owns the run's directory and its lock until `close`."""

    _logs: dict[str, AppendLog]
    _columns: dict[str, None]  # the names in their order, found as quickly as in a set
    _rows: list[list[Any]]  # of metrics.csv, which wait
    _episodes: list[str]  # lines of episodes.csv, which wait
    lines: Callable[[list[list[Any]]], str]  # what makes text of rows
    _name_is_new = False  # metrics.csv was replaced, and a power failure may bring the old one back
    _counted_on = False  # by a checkpoint: rows of metrics.csv that a power failure must not take

    def __init__(
        self,
        path: Path,
        *,
        config: Mapping[str, Any],
        spec: Mapping[str, Any],
        system: Mapping[str, Any],
        columns: Sequence[str] = (),
        sources: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> None:
        """Begin a new run in an absent or empty directory.

        `again`: over one that has no checkpoint yet, because it was killed right at its start.
        """
        path = Path(path)
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        if (path / "config.json").exists() and not again:
            raise RunError(f"{path} already holds a run: resume it, or choose another folder.")
        self._begin(path)
        try:
            if again and checkpoint.checkpoint_folders(
                path
            ):  # made by another process a moment ago
                raise RunError(f"{path} already has a checkpoint: resume it once more.")
            write_json(path / "spec.json", {"format": FORMAT, **spec})
            write_json(path / "system.json", {"format": FORMAT, **system})
            self._columns = dict.fromkeys(_checked([*LEAD_COLUMNS, *columns]))
            self._started = now()
            begin = {"format": FORMAT, "kind": "begin", "env_steps": 0, "time": self._started}
            first_lines = {
                "metrics.csv": ",".join(self._columns) + "\n",
                "episodes.csv": ",".join(EPISODE_COLUMNS) + "\n",
                "events.jsonl": json_text(begin) + "\n",
                "run.log": "",
            }
            for name, line in first_lines.items():  # over what a crash before this may have left
                write_atomic(path / name, line)
            self._logs = {name: AppendLog(path / name, durable=True) for name in LOGS}
            self.status("running")
            self._write_config(config, sources or {})  # last: a directory is a run from here on
        except BaseException:
            self.close()
            raise

    @classmethod
    def reopen(cls, path: Path, offsets: Mapping[str, int] | None) -> RunWriter:
        """Continue a run from a checkpoint's offsets, or (None) from its last whole line."""
        writer = cls.__new__(cls)
        path = Path(path)
        stored = read_json(path / "config.json")
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            raise RunError(f"{path} was not written by this version of dressage: update dressage.")
        writer._begin(path)
        try:
            writer._cut(offsets)
            try:
                started = read_json(path / "status.json")["started"]
            except (RunError, KeyError, TypeError):
                started = now()
            writer._started = str(started)
            writer.status("running")
        except BaseException:
            writer.close()
            raise
        return writer

    def _write_config(self, values: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        content = {"format": FORMAT, "formats": FORMATS, "values": values, "sources": sources}
        write_json(self.path / "config.json", content)

    def change_config(self, values: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        """A resume with other settings: the next resume goes on with these."""
        before = read_json(self.path / "config.json").get("sources") or {}
        self._write_config(values, {**before, **sources})

    def _begin(self, path: Path) -> None:
        self.path = path
        self._logs = {}
        self._columns, self._rows, self._episodes = {}, [], []
        self.lines = metrics_lines
        self._lock = RunLock(path).acquire()
        for leftover in path.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)
        checkpoint.clean(path)

    def _cut(self, offsets: Mapping[str, int] | None) -> None:
        table = bytes(read_bytes(self.path / "metrics.csv"))
        if offsets is None:
            count = table[: table.find(b"\n") + 1].count(b",") + 1
        else:
            count = offsets[COLUMNS_KEY]
        narrow = _first_columns(table, count)
        if narrow != table:
            write_atomic(self.path / "metrics.csv", narrow)
        columns = narrow[: narrow.find(b"\n")].decode().split(",")
        if len(columns) != count or tuple(columns[:4]) != LEAD_COLUMNS:
            raise RunError(f"{self.path / 'metrics.csv'} is damaged: its header cannot be read.")
        self._columns = dict.fromkeys(columns)
        self._logs = {name: AppendLog(self.path / name) for name in LOGS}
        self._counted_on = True
        cuts = {}
        for name, log in self._logs.items():
            if offsets is None:
                cuts[name] = read_bytes(self.path / name).rfind(b"\n") + 1
            else:
                cuts[name] = offsets[name]
            if name == "run.log":  # for people only: its loss must not prevent a resume
                cuts[name] = min(cuts[name], log.offset())
            elif cuts[name] > log.offset():  # all are looked at before the first is cut
                log.truncate(cuts[name])
        for name, log in self._logs.items():
            log.truncate(cuts[name])

    def metrics_row(self, row: Mapping[str, Any]) -> None:
        """One line of metrics.csv; names not seen before become new last columns."""
        if "env_steps" not in row:
            raise ValueError("a row of metrics needs env_steps")
        cells = [*map(row.get, self._columns)]
        if len(cells) - cells.count(None) != len(row):  # no cell for some name, or None as a value
            if new := row.keys() - self._columns.keys():
                self._widen(sorted(new, key=place))
            cells = [*map(row.get, self._columns)]
        self._rows.append(cells)

    def _widen(self, new: list[str]) -> None:
        columns = dict.fromkeys(_checked([*self._columns, *new]))
        self.flush()
        path = self.path / "metrics.csv"
        header, *lines = bytes(read_bytes(path)).decode().splitlines()
        wider = [",".join([header, *new]), *(line + "," * len(new) for line in lines)]
        self._logs["metrics.csv"].close()
        # Every run comes here with its first row and its first evaluation, and waits for no disk.
        durable = self._counted_on and bool(lines)
        self._name_is_new |= not durable
        try:
            write_atomic(path, "\n".join(wider) + "\n", durable)
        finally:  # with the old content if the disk is full
            self._logs["metrics.csv"] = AppendLog(path)
        self._columns = columns

    def episodes_rows(self, rows: Iterable[Sequence[Any]]) -> None:
        """The episodes that ended in this interval, each in the order of `EPISODE_COLUMNS`.

        Beyond 100, evenly spaced ones are written, and an event tells the count and quantiles
        of all of them.
        """
        rows = list(rows)
        count = len(rows)
        if not count:
            return
        if count > EPISODES_PER_INTERVAL:
            spaced = np.linspace(0, count - 1, EPISODES_PER_INTERVAL).round().astype(int)
            chosen = [rows[index] for index in spaced]
            returns = np.array([row[1] for row in rows], float)
            lengths = np.array([row[2] for row in rows], float)
            self.event(
                "episodes",
                int(rows[-1][0]),
                count=count,
                written=EPISODES_PER_INTERVAL,
                terminated=sum(row[3] == "terminated" for row in rows),
                quantiles=QUANTILES,
                returns=np.quantile(returns, QUANTILES),
                lengths=np.quantile(lengths, QUANTILES),
            )
        else:
            chosen = rows
        self._episodes += map(_episode_line, chosen)

    def flush(self) -> None:
        """Hands the rows that wait to the system: from here on readers of the run see them."""
        # Taken before they are written: an interrupt may lose rows, never write them twice.
        rows, self._rows = self._rows, []
        episodes, self._episodes = self._episodes, []
        if rows:
            self._logs["metrics.csv"].write(self.lines(rows))
        if episodes:
            self._logs["episodes.csv"].write("".join(episodes))

    def event(self, kind: str, env_steps: int, **data: Any) -> None:
        self.flush()
        entry = {"env_steps": int(env_steps), "kind": kind, "time": now(), **data}
        self._logs["events.jsonl"].write(json_text(entry) + "\n")

    def log(self, text: str) -> None:
        """A line for people in run.log; further lines of the text are indented."""
        body = text.rstrip("\n").replace("\n", "\n    ")
        self._logs["run.log"].write(f"{now()} {body}\n")

    def status(self, state: str, reason: str = "") -> None:
        """Say how the run stands; a run that says `running` without a living writer has crashed."""
        if state not in STATES:
            raise ValueError(f"{state!r} is not one of {STATES}")
        self.flush()
        status = {"format": FORMAT, "state": state, "reason": reason, "pid": os.getpid()}
        write_json(self.path / "status.json", {**status, "started": self._started, "time": now()})

    def sync(self) -> None:
        """Makes all rows durable."""
        self.flush()
        at_once(self.syncs())

    def syncs(self) -> list[Callable[[], None]]:
        """What makes durable what was handed to the system, to be called all at once."""
        return [self._sync_name, *(log.sync for log in self._logs.values() if not log.durable)]

    def _sync_name(self) -> None:
        self._counted_on = True
        if self._name_is_new:
            sync_folder(self.path)
            self._name_is_new = False

    def offsets(self) -> dict[str, int]:
        """Where the logs end, for a checkpoint's manifest."""
        self.flush()
        ends = {name: log.offset() for name, log in self._logs.items()}
        return {**ends, COLUMNS_KEY: len(self._columns)}

    def close(self) -> None:
        """Close the files and release the lock; the status stays what it was last said to be."""
        try:
            self.flush()
        finally:
            for log in self._logs.values():
                log.close()
            self._lock.release()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _checked(columns: list[str]) -> list[str]:
    """Column names that need no quoting in CSV, each once."""
    for name in columns:
        if not name or not name.isprintable() or any(mark in name for mark in ',"'):
            raise ValueError(f"{name!r} cannot name a column: no commas, quotes or control marks")
    if len(set(columns)) != len(columns):
        raise ValueError(f"a column is declared twice in {columns}")
    return columns


def _first_columns(table: bytes, count: int) -> bytes:
    """The same CSV with only its first `count` columns."""
    header = table[: table.find(b"\n") + 1]
    if header.count(b",") + 1 <= count:
        return table
    lines = table.split(b"\n")
    return b"\n".join(b",".join(line.split(b",", count)[:count]) for line in lines)


def metrics_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Rows of cells as lines of CSV."""
    return "".join(",".join(map(format_cell, row)) + "\n" for row in rows)


def _episode_line(row: Sequence[Any]) -> str:
    env_steps, episode_return, length, ended, success, env_index = row
    if ended not in ("terminated", "truncated"):
        raise ValueError(f"an episode ended as {ended!r}, expected 'terminated' or 'truncated'")
    if success is None or (isinstance(success, float) and math.isnan(success)):
        flag = ""
    else:
        flag = "1" if success else "0"
    cells = (int(env_steps), float(episode_return), int(length), str(ended), flag, int(env_index))
    return "{},{!r},{},{},{},{}\n".format(*cells)
