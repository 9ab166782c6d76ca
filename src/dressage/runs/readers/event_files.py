"""TensorBoard's event files: scalars and texts by tag, without torch or tensorflow.

A file is a row of records, each its length (8 bytes), a checksum of that (4), the bytes of an Event
message, and a checksum (4). The messages are parsed with tensorboard's own definitions; its reader
is not used, since it imports tensorflow where there is one and computes checksums in Python.
"""

from __future__ import annotations

import math
import os
import re
import struct
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dressage.errors import DressageError
from dressage.runs.readers.safe import open_file
from dressage.runs.table import Array

NAME = re.compile(r".*tfevents.*")
RECORD = 32 * 2**20  # bytes of one record: images and videos are passed over, not kept
TAGS = 20_000
TEXT = 2**20  # characters of a text
DENSE = 150 * 2**20  # bytes of a file beyond which one step in k is parsed
HINT = "This needs tensorboard, which is not installed: pip install 'dressage[tensorboard]'"


class Scalars(NamedTuple):
    steps: Array  # float64 [T]
    values: Array  # float64 [T]
    times: Array  # float64 [T], seconds since 1970


@dataclass
class Events:
    scalars: dict[str, Scalars] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # the last of each tag
    notes: list[str] = field(default_factory=list)


def is_event_file(path: Path) -> bool:
    return NAME.fullmatch(path.name) is not None


def read_events(paths: list[Path]) -> Events:
    """All files of one run, in the order of their names, which begin with the time."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
    except ImportError as error:
        raise DressageError(HINT) from error
    reader = _Reader(Event)
    for path in sorted(paths, key=lambda path: path.name):
        reader.read(path)
    return reader.finish()


class _Reader:
    def __init__(self, message: Any) -> None:
        self._message = message
        self._found: dict[str, tuple[array[float], array[float], array[float]]] = {}
        self._events = Events()

    def read(self, path: Path) -> None:
        note = self._events.notes.append
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            stride = max(1, math.ceil(size / DENSE))
            if stride > 1:
                note(f"{path.name} has {size:,} bytes: one step in {stride} was read.")
            damaged = 0
            while len(head := file.read(12)) == 12:
                (length,) = struct.unpack_from("<Q", head)
                if length > size:
                    note(f"{path.name} is damaged: the rest of it was left out.")
                    break
                if length > RECORD:
                    file.seek(length + 4, os.SEEK_CUR)
                    continue
                record = file.read(length + 4)
                if len(record) < length + 4:
                    note("The last record is only half written and was left out.")
                    break
                if stride > 1 and _step(record) // 7 % stride:
                    continue
                try:
                    event = self._message.FromString(record[:-4])
                except Exception:  # protobuf's DecodeError; which module it lives in has moved
                    damaged += 1
                    continue
                self._take(event)
            if damaged:
                note(f"{damaged} records of {path.name} are damaged and were left out.")

    def _take(self, event: Any) -> None:
        step, time = float(event.step), event.wall_time
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                self._add(value.tag, step, value.simple_value, time)
            elif kind == "tensor":
                self._take_tensor(value, step, time)

    def _take_tensor(self, value: Any, step: float, time: float) -> None:
        """Scalars of tensorflow 2, and texts."""
        tensor = value.tensor
        if tensor.string_val:
            if len(self._events.texts) < TAGS:
                text = tensor.string_val[0][:TEXT].decode("utf-8", "replace")
                self._events.texts[value.tag.removesuffix("/text_summary")] = text
        elif len(tensor.float_val) == 1:
            self._add(value.tag, step, tensor.float_val[0], time)
        elif len(tensor.double_val) == 1:
            self._add(value.tag, step, tensor.double_val[0], time)
        elif tensor.dtype in (1, 2) and len(tensor.tensor_content) == 4 * tensor.dtype:
            code = "<f" if tensor.dtype == 1 else "<d"
            self._add(value.tag, step, struct.unpack(code, tensor.tensor_content)[0], time)

    def _add(self, tag: str, step: float, value: float, time: float) -> None:
        arrays = self._found.get(tag)
        if arrays is None:
            if len(self._found) >= TAGS:
                return
            arrays = self._found[tag] = (array("d"), array("d"), array("d"))
        arrays[0].append(step)
        arrays[1].append(value)
        arrays[2].append(time)

    def finish(self) -> Events:
        self._events.scalars = {
            tag: Scalars(*(np.array(part, np.float64) for part in parts))
            for tag, parts in self._found.items()
        }
        return self._events


def _step(record: bytes) -> int:
    """The step of an event whose first two fields are its time and its step, as writers put them;
    0 for any other."""
    if len(record) < 12 or record[0] != 0x09 or record[9] != 0x10:
        return 0
    step = shift = 0
    for byte in record[10:20]:
        step |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return step
