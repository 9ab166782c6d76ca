"""Arrays on disk in the safetensors format, byte for byte as the safetensors library writes them.

Own code for two reasons: arrays are hashed and written as they are, without a second copy of the
memory; and a file from elsewhere is checked in full (header size, names, types, shapes, offsets)
before any array is made. Nothing in such a file can be executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.runs.files import parse_json, write_all, writing

HEADER_LIMIT = 10 * 2**20  # bytes
MAX_DIMENSIONS = 32
WRITTEN_AT_ONCE = 2**20  # bytes up to which a copy takes less time than a system call an array
Arrays = Mapping[str, np.ndarray[Any, Any]]

# In the order in which the library lays arrays out: by width, then as its type list declares them.
_DTYPES = {
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
    "C64": "<c8",
    "F32": "<f4",
    "U32": "<u4",
    "I32": "<i4",
    "F16": "<f2",
    "U16": "<u2",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_ORDER = {name: position for position, name in enumerate(_DTYPES)}


def write_tensors(path: Path, arrays: Arrays, durable: bool = True) -> tuple[str, int]:
    """Write a new file, and fsync it if asked; returns its sha256 and its size in bytes."""
    ready: dict[str, tuple[str, np.ndarray[Any, Any]]] = {}
    for name, value in arrays.items():
        array = np.asarray(value, order="C")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if array.dtype not in _NAMES:
            raise TypeError(f"{name} has dtype {array.dtype}, which safetensors cannot hold")
        if name == "__metadata__" or not isinstance(name, str):
            raise ValueError(f"{name!r} is not a name for an array in safetensors")
        ready[name] = _NAMES[array.dtype], array
    order = sorted(ready, key=lambda name: (_ORDER[ready[name][0]], name))
    header: dict[str, Any] = {}
    position = 0
    for name in order:
        dtype, array = ready[name]
        end = position + array.nbytes
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > HEADER_LIMIT:
        raise RunError(f"{path} would need a header of {len(text):,} bytes: too many arrays.")
    head = struct.pack("<Q", len(text)) + text
    pieces: list[bytes | memoryview] = [head, *(_bytes_of(ready[name][1]) for name in order)]
    if position <= WRITTEN_AT_ONCE:
        pieces = [b"".join(pieces)]
    digest = hashlib.sha256()
    with writing(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            for piece in pieces:
                digest.update(piece)
                write_all(handle, piece)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
    return digest.hexdigest(), 8 + len(text) + position


def _bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def parse_tensors(content: bytearray, name: object) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a whole file in memory, as writable views of `content`."""

    def refuse(why: str) -> RunError:
        return RunError(f"{name} is not a safetensors file that can be trusted: {why}.")

    if len(content) < 8:
        raise refuse(f"it has only {len(content)} bytes")
    (header_size,) = struct.unpack_from("<Q", content)
    if header_size > HEADER_LIMIT:
        raise refuse(f"its header claims {header_size:,} bytes")
    start = 8 + header_size
    if start > len(content):
        raise refuse("it ends inside its header")
    header = parse_json(content[8:start], name)
    if not isinstance(header, dict):
        raise refuse("its header is not a table of arrays")
    header.pop("__metadata__", None)
    entries = []
    for key, entry in header.items():
        match entry:
            case {"dtype": str(code), "shape": list(shape), "data_offsets": [int(), int()] as span}:
                pass
            case _:
                raise refuse(f"the entry {key[:80]!r} is malformed")
        if code not in _DTYPES:
            raise refuse(f"the array {key[:80]!r} has the unknown type {code[:20]!r}")
        if len(shape) > MAX_DIMENSIONS or not all(
            type(size) is int and 0 <= size < 2**48 for size in shape
        ):
            raise refuse(f"the array {key[:80]!r} has an impossible shape")
        if math.prod(shape) * np.dtype(_DTYPES[code]).itemsize != span[1] - span[0]:
            raise refuse(f"the shape and the size of {key[:80]!r} disagree")
        entries.append((span[0], span[1], key, np.dtype(_DTYPES[code]), shape))
    position = 0
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for begin, end, key, dtype, shape in sorted(entries, key=lambda item: item[:2]):
        if begin != position or start + end > len(content):
            raise refuse(f"the array {key[:80]!r} overlaps another, leaves a gap or lies outside")
        position = end
        try:
            flat = np.frombuffer(content, dtype, math.prod(shape), start + begin)
            arrays[key] = flat.reshape(shape)
        except ValueError as error:
            # numpy refuses an empty buffer, and shapes such as (0, 2**40, 2**40)
            if end > begin or math.prod(size for size in shape if size) >= 2**62:
                raise refuse(f"the array {key[:80]!r} has an impossible shape") from error
            arrays[key] = np.empty(shape, dtype)
    if start + position != len(content):
        raise refuse("it has bytes that belong to no array")
    return {key: arrays[key] for key in header}
