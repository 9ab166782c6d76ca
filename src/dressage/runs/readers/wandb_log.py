"""W&B's `run-….wandb`: the whole history of a run, its settings and how it ended.

The file has a head of 7 bytes, then blocks of 32 KiB with records as LevelDB's log has them: each
part a checksum (4 bytes), a length (2) and a kind (1: whole; 2, 3, 4: first, middle, last part). A
record is a protobuf message, of which a few fields are read here; W&B itself takes over a second to
import and is not needed.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.readers.safe import open_file
from dressage.runs.readers.tables import COLUMNS, Column, Table, flat

HEAD = b":W&B\xe1\xbe"
BLOCK = 32 * 1024
RECORD = 16 * 2**20  # bytes of one record
DENSE = 40 * 2**20  # bytes of a file beyond which one row in k is read
# Numbers of fields: of a record, of what it holds, of one item of a history or config.
HISTORY, CONFIG, RUN, EXIT = 2, 5, 17, 18
ITEM, RUN_CONFIG, RUN_NAME, EXIT_CODE = 1, 4, 8, 1
KEY, NESTED, BOOLEAN, INTEGER, NUMBER, JSON, VALUE_JSON = 1, 2, 4, 5, 6, 8, 16


@dataclass
class Log:
    table: Table
    config: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    exit_code: int | None = None


def read_log(path: Path) -> Log:
    log = Log(Table(path))
    columns: dict[str, tuple[list[int], list[float]]] = {}
    with open_file(path) as file:
        stride = max(1, math.ceil(os.fstat(file.fileno()).st_size / DENSE))
    seen = damaged = 0
    for record in _records(path, log.table):
        try:
            for number, value in _fields(record):
                if not isinstance(value, bytes):
                    continue
                if number == HISTORY:
                    seen += 1
                    if (seen - 1) % stride == 0:
                        _add_row(log.table, columns, value)
                elif number == CONFIG:
                    log.config |= _items(value)
                elif number == RUN:
                    _add_run(log, value)
                elif number == EXIT:
                    code = dict(_fields(value)).get(EXIT_CODE, 0)
                    log.exit_code = code if isinstance(code, int) else None
        except (ValueError, struct.error):
            damaged += 1
    if damaged:
        log.table.notes.append(f"{damaged} records of {path.name} are damaged and were left out.")
    if stride > 1:
        log.table.notes.append(f"{path.name} has {seen:,} rows: one in {stride} was read.")
    log.table.columns = {
        name: Column(np.array(rows, np.int64), np.array(values, np.float64))
        for name, (rows, values) in columns.items()
    }
    return log


def _records(path: Path, table: Table) -> Iterator[bytes]:
    """The whole records, up to the first that is damaged or half written."""
    with open_file(path) as file:
        head = file.read(7)
        if not head.startswith(HEAD):
            if head:
                table.notes.append(f"{path.name} is not a log of W&B, or of another version.")
            return
        parts, left = b"", BLOCK - 7
        while True:
            if left < 7:  # too little for a part: filled with zeros
                file.read(left)
                left = BLOCK
            header = file.read(7)
            if not header:
                break
            if len(header) < 7:
                table.notes.append("The last record is only half written and was left out.")
                return
            _, length, kind = struct.unpack("<IHB", header)
            part = file.read(length)
            left -= 7 + length
            if len(part) < length or left < 0 or kind not in (1, 2, 3, 4):
                table.notes.append(f"{path.name} is cut off or damaged: the rest was left out.")
                return
            parts = part if kind in (1, 2) else parts + part
            if kind in (1, 4):
                yield parts
            elif len(parts) > RECORD:
                table.notes.append(f"{path.name} is damaged: the rest was left out.")
                return


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of a protobuf message: varints as int, doubles as float, the rest as bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if kind == 1:
            yield key >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
            continue
        length, at = _varint(data, at) if kind == 2 else (4, at)
        if kind not in (2, 5) or at + length > end:
            raise ValueError(f"a field of kind {kind} at {at}")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    for byte in data[at : at + 10]:
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise ValueError("a number without an end")


def _item(data: bytes) -> tuple[str, Any]:
    """A name with its value: a number, or what JSON says."""
    name, nested, value = "", [], None
    for number, part in _fields(data):
        if isinstance(part, bytes):
            text = part.decode("utf-8", "replace")
            if number == KEY:
                name = text
            elif number == NESTED:
                nested.append(text)
            elif number in (JSON, VALUE_JSON):
                value = _loaded(text)
        elif number == NUMBER and isinstance(part, float):
            value = part
        elif number == INTEGER and isinstance(part, int):
            value = (part >> 1) ^ -(part & 1)  # zigzag
        elif number == BOOLEAN:
            value = bool(part)
    return name or ".".join(nested), value


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _items(data: bytes) -> dict[str, Any]:
    parts = (part for number, part in _fields(data) if number == ITEM)
    found = dict(_item(part) for part in parts if isinstance(part, bytes))
    return {name: value for name, value in found.items() if name != "_wandb"}


def _add_row(table: Table, columns: dict[str, tuple[list[int], list[float]]], data: bytes) -> None:
    row = _items(data)
    for name, value in flat(row):
        if isinstance(value, float):
            if name not in columns:
                if len(columns) >= COLUMNS:
                    continue
                columns[name] = ([], [])
            columns[name][0].append(table.rows)
            columns[name][1].append(value)
    table.rows += 1


def _add_run(log: Log, data: bytes) -> None:
    for number, part in _fields(data):
        if isinstance(part, bytes) and number == RUN_CONFIG:
            log.config |= _items(part)
        elif isinstance(part, bytes) and number == RUN_NAME:
            log.name = part.decode("utf-8", "replace")[:200]
