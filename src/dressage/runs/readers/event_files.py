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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dressage.errors import DressageError
from dressage.runs.readers.safe import open_file
from dressage.runs.table import Array

NAME = re.compile(r".*tfevents.*")
RECORD = 256 * 2**20  # bytes of one record, such as a video
TAGS = 20_000
TEXT = 2**20  # characters of a text
KINDS = 100_000  # of records that are remembered
CHUNK = 32 * 2**20  # bytes read at a time
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
    """Most records hold one scalar, and differ from the others of their tag in time, step and value
    only. Their bytes between step and value are looked up; protobuf parses the first of each kind,
    and every record that is of no such kind. It takes less than half of the time."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self._kinds: dict[bytes, str | None] = {}  # bytes between step and value: the tag, if plain
        self._found: dict[str, list[Scalars]] = {}
        self._events = Events()

    def read(self, path: Path) -> None:
        note = self._events.notes.append
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            self._stride = max(1, math.ceil(size / DENSE))
            if self._stride > 1:
                note(f"{path.name} has {size:,} bytes: one step in {self._stride} was read.")
            self._damaged = 0
            rest = b""
            while data := file.read(CHUNK):
                data = rest + data
                done = self._records(data)
                rest = data[done:]
                if len(rest) >= 12 and struct.unpack_from("<Q", rest)[0] > RECORD:
                    note(f"{path.name} is damaged: the rest of it was left out.")
                    rest = b""
                    break
            if rest:
                note("The last record is only half written and was left out.")
            if self._damaged:
                note(f"{self._damaged} records of {path.name} are damaged and were left out.")

    def _records(self, data: bytes) -> int:
        """Takes the whole records at the beginning of `data`; returns where the rest begins."""
        places: dict[bytes, list[int]] = {}  # where the plain records of each kind begin
        adds: dict[bytes, Callable[[int], None]] = {}  # to append to these
        at, end, size, stride = 0, len(data) - 12, len(data), self._stride
        length_of = struct.Struct("<Q").unpack_from
        while at <= end:
            (length,) = length_of(data, at)
            begin, after = at + 12, at + length + 16
            if after > size:
                break
            at = after
            if length > 15 and data[begin] == 0x09 and data[begin + 9] == 0x10:
                body = begin + 11
                while data[body - 1] >= 0x80 and body < begin + 20:
                    body += 1
                if stride > 1 and _varint(data, begin + 10) // 7 % stride:
                    continue
                kind = data[body : after - 8]
                add = adds.get(kind)
                if add is None and self._is_plain(kind, data[begin : begin + length]):
                    places[kind] = []
                    add = adds[kind] = places[kind].append
                if add is not None:
                    add(begin)
                    continue
            self._parse(data[begin : begin + length])
        for kind, begins in places.items():
            tag = self._kinds[kind] or ""
            if tag in self._found or len(self._found) < TAGS:
                self._found.setdefault(tag, []).append(_scalars(data, begins, len(kind)))
        return at

    def _is_plain(self, kind: bytes, record: bytes) -> bool:
        if kind not in self._kinds:
            self._kinds[kind] = self._plain_tag(record, kind)
        return self._kinds[kind] is not None

    def _plain_tag(self, record: bytes, kind: bytes) -> str | None:
        """The tag, if a record is one scalar whose value is its last four bytes."""
        try:
            event = self._message.FromString(record)
        except Exception:  # protobuf's DecodeError; which module it lives in has moved
            return None
        if len(event.summary.value) != 1 or len(self._kinds) > KINDS:
            return None
        tag = str(event.summary.value[0].tag)
        # The same message, written anew, has these bytes before its value: nothing else is in it.
        summary = b"\x0a" + _length(len(tag.encode())) + tag.encode() + b"\x15"
        value = b"\x0a" + _length(len(summary) + 4) + summary
        return tag if tag and kind == b"\x2a" + _length(len(value) + 4) + value else None

    def _parse(self, record: bytes) -> None:
        try:
            event = self._message.FromString(record)
        except Exception:
            self._damaged += 1
            return
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                self._add(value.tag, event, value.simple_value)
            elif kind == "tensor":
                self._take_tensor(value, event)

    def _take_tensor(self, value: Any, event: Any) -> None:
        """Scalars of tensorflow 2, and texts."""
        tensor = value.tensor
        if tensor.string_val:
            if len(self._events.texts) < TAGS:
                text = tensor.string_val[0][:TEXT].decode("utf-8", "replace")
                self._events.texts[value.tag.removesuffix("/text_summary")] = text
        elif len(tensor.float_val) == 1:
            self._add(value.tag, event, tensor.float_val[0])
        elif len(tensor.double_val) == 1:
            self._add(value.tag, event, tensor.double_val[0])
        elif tensor.dtype in (1, 2) and len(tensor.tensor_content) == 4 * tensor.dtype:
            code = "<f" if tensor.dtype == 1 else "<d"
            self._add(value.tag, event, struct.unpack(code, tensor.tensor_content)[0])

    def _add(self, tag: str, event: Any, value: float) -> None:
        if tag in self._found or len(self._found) < TAGS:
            parts = (float(event.step), value, event.wall_time)
            one = Scalars(*(np.array([part], np.float64) for part in parts))
            self._found.setdefault(tag, []).append(one)

    def finish(self) -> Events:
        self._events.scalars = {
            tag: Scalars(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            for tag, parts in self._found.items()
        }
        return self._events


def _scalars(data: bytes, begins: list[int], kind: int) -> Scalars:
    """The numbers of plain records; `kind` is how many bytes lie between step and value."""
    content = np.frombuffer(data, np.uint8)
    begin = np.array(begins, np.int64)
    times = content[begin[:, None] + np.arange(1, 9)].view("<f8")[:, 0]
    step, more = np.zeros(len(begin), np.int64), np.ones(len(begin), bool)
    after = begin + 10
    for index in range(10):
        byte = content[begin + 10 + index].astype(np.int64)
        step |= np.where(more, (byte & 0x7F) << (7 * index), 0)
        after += more
        more &= byte >= 0x80
        if not more.any():
            break
    value = content[(after + kind)[:, None] + np.arange(4)].view("<f4")[:, 0]
    return Scalars(step.astype(np.float64), value.astype(np.float64), times.astype(np.float64))


def _varint(data: bytes, at: int) -> int:
    number = shift = 0
    for byte in data[at : at + 10]:
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return number


def _length(number: int) -> bytes:
    """A length as protobuf writes it."""
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
