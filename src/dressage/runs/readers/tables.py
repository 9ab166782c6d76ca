"""CSV and JSON lines as columns of numbers, read in pieces and forgivingly.

A cell is not measured (empty), a number (nan and infinities too), or text; columns of text keep
their last cell only. A table of more than `CELLS` numbers is thinned to every k-th row, and says
so: 10,000 rows of 50 numbers are an eighth of that.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dressage.errors import RunError
from dressage.runs.readers.safe import open_file
from dressage.runs.table import Array

CELLS = 4_000_000  # numbers kept of one table
COLUMNS = 20_000
BLOCK = 4 * 2**20  # bytes read at a time
LINE = 64 * 2**20  # bytes of one line
EMPTY_TEXT, EMPTY = "-8.8e307", -8.8e307  # stands for an empty cell until the table is whole
DEPTH = 12  # of nested JSON


class Column(NamedTuple):
    rows: Array  # int64 [M], the rows in which it was measured
    values: Array  # float64 [M]


@dataclass
class Table:
    path: Path
    rows: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # last cell of the columns of text
    first: dict[str, Any] = field(default_factory=dict)  # JSON lines: the first row as it is
    comments: list[str] = field(default_factory=list)  # lines before the header that begin with #
    notes: list[str] = field(default_factory=list)

    def dense(self, name: str) -> Array:
        """A column with its last value wherever it was not measured; nan before the first."""
        column = self.columns[name]
        values = np.full(self.rows, math.nan)
        values[column.rows] = column.values
        measured = np.zeros(self.rows, np.int64)
        measured[column.rows] = column.rows + 1
        last = np.maximum.accumulate(measured) if self.rows else measured
        filled: Array = np.where(last > 0, values[last - 1], math.nan)
        return filled


def read_csv(path: Path) -> Table:
    """Comma, tab or semicolon; quotes where needed; the first line names the columns."""
    table = Table(path)
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        header = _header(file, table)
        if header:
            names, mark = header
            _Rows(table, names, mark).read(file, size)
    if not table.rows:
        table.notes.append(f"{path.name} holds no whole row.")
    return table


def _header(file: Any, table: Table) -> tuple[list[str], str] | None:
    while True:
        line = file.readline(LINE)
        if not line:
            return None
        text = line.decode("utf-8-sig", "replace").strip("\r\n")
        if text.startswith("#"):
            table.comments.append(text[:65_536])
        elif text.strip():
            break
    mark = max(",\t;", key=text.count)
    try:
        names = next(csv.reader([text], delimiter=mark))
    except (csv.Error, StopIteration):
        names = text.split(mark)
    if len(names) > COLUMNS:
        raise RunError(f"{table.path} has {len(names):,} columns, more than {COLUMNS:,}.")
    if "\0" in text:
        raise RunError(f"{table.path} is not a table: its first line holds zero bytes.")
    return _distinct([name.strip() for name in names]), mark


def _distinct(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        name = name or f"column {at + 1}"
        seen[name] = seen.get(name, 0) + 1
        names[at] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


class _Rows:
    """Collects the rows of one CSV file, block by block."""

    def __init__(self, table: Table, names: list[str], mark: str) -> None:
        self.table, self.names, self.mark = table, names, mark
        self.blocks: list[Array] = []  # [rows, columns] each
        self.text: set[int] = set()  # columns that hold text
        self.last: list[str] = []  # cells of the last row
        self.bad = np.zeros(len(names), np.int64)  # cells that are no numbers
        self.lines = self.ragged = 0
        self.stride = 0  # not known yet

    def read(self, file: Any, size: int) -> None:
        rest = b""
        while block := file.read(BLOCK):
            block = rest + block
            cut = block.rfind(b"\n") + 1
            rest = block[cut:]
            if len(rest) > LINE:
                raise RunError(f"{self.table.path} has a line of more than {LINE:,} bytes.")
            if cut:
                self._add(block[:cut], size)
        if rest:
            if self.lines:
                self.table.notes.append("The last line is only half written and was left out.")
            else:
                self._add(rest, size)
        self._finish()

    def _add(self, block: bytes, size: int) -> None:
        if b"\0" in block:  # what a power failure leaves in a file whose size was written first
            block = block.replace(b"\0", b"")
        text = block.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")
        lines = text.split("\n")
        if not self.stride:
            rows = size / max(len(block) / len(lines), 1.0)
            self.stride = max(1, math.ceil(rows * len(self.names) / CELLS))
        begin = -self.lines % self.stride
        self.lines += len(lines)
        if '"' in text:
            self._add_cells(self._quoted(lines, begin))
            return
        commas = len(self.names) - 1
        kept = [line for line in lines[begin :: self.stride] if line.count(self.mark) == commas]
        if commas == 0:
            kept = [line for line in kept if line.strip()]
        self.ragged += len(lines[begin :: self.stride]) - len(kept)
        if kept:
            self.last = kept[-1].split(self.mark)
            self._add_plain(kept)

    def _quoted(self, lines: list[str], begin: int) -> list[list[str]]:
        try:
            rows = list(csv.reader(lines[begin :: self.stride], delimiter=self.mark))
        except csv.Error as error:
            raise RunError(
                f"{self.table.path} is damaged or no table: its lines do not split into cells."
            ) from error
        whole = [row for row in rows if len(row) == len(self.names)]
        self.ragged += len(rows) - len(whole)
        return whole

    def _add_plain(self, lines: list[str]) -> None:
        """Lines without quotes: numpy's parser, which takes half of what `float` takes a cell."""
        mark, numbers = self.mark, [at for at in range(len(self.names)) if at not in self.text]
        text = "\n" + "\n".join(lines) + "\n"
        for _ in range(2):  # the first pass leaves every other one of a row of empty cells
            text = text.replace(mark + mark, f"{mark}{EMPTY_TEXT}{mark}")
        text = text.replace(f"\n{mark}", f"\n{EMPTY_TEXT}{mark}")
        text = text.replace(f"{mark}\n", f"{mark}{EMPTY_TEXT}\n")
        if not numbers:
            return
        try:
            block = np.loadtxt(
                text[1:-1].split("\n"),
                np.float64,
                comments=None,
                delimiter=mark,
                usecols=numbers,
                ndmin=2,
            )
        except (ValueError, OverflowError):
            self._add_cells([line.split(mark) for line in lines])
            return
        if len(numbers) < len(self.names):
            whole = np.full((len(block), len(self.names)), EMPTY)
            whole[:, numbers] = block
            block = whole
        self.blocks.append(block)

    def _add_cells(self, rows: list[list[str]]) -> None:
        if not rows:
            return
        self.last = rows[-1]
        block = np.full((len(rows), len(self.names)), EMPTY)
        for at, cells in enumerate(zip(*rows, strict=True)):
            if at in self.text:
                continue
            try:
                block[:, at] = np.fromiter(map(float, cells), np.float64, len(cells))
            except ValueError:
                parsed = [_number(cell) for cell in cells]
                wrong = sum(value is None for value in parsed)
                self.bad[at] += wrong
                if wrong and all(value is None or value == EMPTY for value in parsed):
                    self.text.add(at)
                block[:, at] = [EMPTY if value is None else value for value in parsed]
        self.blocks.append(block)

    def _finish(self) -> None:
        table = self.table
        table.rows = sum(map(len, self.blocks))
        every = np.arange(table.rows)
        for at, name in enumerate(self.names):
            values = np.concatenate([block[:, at] for block in self.blocks] or [np.empty(0)])
            measured = values != EMPTY
            if measured.all():
                table.columns[name] = Column(every, values)
            elif measured.any():
                table.columns[name] = Column(every[measured], values[measured])
            elif at in self.text and at < len(self.last):
                table.texts[name] = self.last[at][:1000]
            if self.bad[at] and measured.any():
                table.notes.append(
                    f"Column {quoted(name)} has {self.bad[at]} cells that are no numbers: left out."
                )
        if self.text:
            some = ", ".join(quoted(self.names[at]) for at in sorted(self.text)[:5])
            more = " and others" if len(self.text) > 5 else ""
            table.notes.append(f"Columns of text were left out: {some}{more}.")
        if self.ragged:
            table.notes.append(
                f"{self.ragged} lines have more or fewer cells than the header and were left out."
            )
        if self.stride > 1:
            table.notes.append(
                f"{table.path.name} has about {self.lines:,} rows: one in {self.stride} was read."
            )


def _number(cell: str) -> float | None:
    """None for text."""
    cell = cell.strip()
    if not cell:
        return EMPTY
    try:
        return float(cell)
    except ValueError:
        return {"true": 1.0, "false": 0.0, "none": EMPTY, "null": EMPTY}.get(cell.lower())


def read_json_lines(path: Path, skip: tuple[str, ...] = ()) -> Table:
    """One JSON object a line, nested ones as `outer/inner`; lists are left out.

    `skip`: entries that are the same in every row (a config), kept of the first row only.
    """
    table = Table(path)
    found: dict[str, tuple[list[int], list[float]]] = {}
    damaged = 0
    for row in _json_rows(path, table):
        if not isinstance(row, dict):
            damaged += 1
            continue
        if not table.rows:
            table.first = row
        for name, value in flat(row, skip):
            if isinstance(value, str):
                if name in table.texts or len(table.texts) < COLUMNS:
                    table.texts[name] = value[:1000]
                continue
            if name not in found:
                if len(found) >= COLUMNS:
                    raise RunError(f"{path} has more than {COLUMNS:,} names.")
                found[name] = ([], [])
            rows, values = found[name]
            rows.append(table.rows)
            values.append(value)
        table.rows += 1
    table.columns = {
        name: Column(np.array(rows, np.int64), np.array(values, np.float64))
        for name, (rows, values) in found.items()
    }
    if damaged:
        table.notes.append(f"{damaged} lines of {path.name} are damaged and were left out.")
    if not table.rows:
        table.notes.append(f"{path.name} holds no whole row.")
    return table


def _json_rows(path: Path, table: Table) -> Iterator[Any]:
    """Rows, or None for a damaged line."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        stride, index = 1, 0
        while line := file.readline(LINE):
            whole = line.endswith(b"\n")
            if not whole and len(line) >= LINE:
                raise RunError(f"{path} has a line of more than {LINE:,} bytes.")
            index += 1
            if not line.strip() or (index - 1) % stride:
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                if whole:
                    yield None
                else:
                    table.notes.append("The last line is only half written and was left out.")
                continue
            if index == 1:
                # Of JSON a number takes three times as long as of CSV.
                rows = size / len(line)
                stride = max(1, math.ceil(rows * 3 * sum(1 for _ in flat(row)) / CELLS))
            yield row
        if stride > 1:
            table.notes.append(f"{path.name} has about {index:,} rows: one in {stride} was read.")


def flat(
    value: Any, skip: tuple[str, ...] = (), before: str = "", depth: int = 0
) -> Iterator[tuple[str, float | str]]:
    """Numbers and texts of nested objects by their path; truth is 1 or 0, lists are left out."""
    if not isinstance(value, dict) or depth > DEPTH:
        return
    for key, item in value.items():
        name = f"{before}{key}"
        if isinstance(item, dict):
            if name not in skip:
                yield from flat(item, skip, f"{name}/", depth + 1)
        elif isinstance(item, str):
            yield name, item
        elif isinstance(item, (bool, int, float)):
            try:
                yield name, float(item)
            except OverflowError:
                yield name, math.inf if item > 0 else -math.inf


def quoted(name: str, most: int = 60) -> str:
    shown: Iterable[str] = (mark if mark.isprintable() else "?" for mark in name[:most])
    return repr("".join(shown) + ("…" if len(name) > most else ""))
