"""Rows of numbers as lines of CSV, written in C: the text that repr gives."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain
from types import NoneType
from typing import Any

from dressage.native import face
from dressage.native.face import Int64, Pointer
from dressage.runs.writer import metrics_lines

KINDS: dict[type, int] = {NoneType: 0, int: 1, float: 2}  # as in text.c
MOST_BYTES = 25  # of a cell and what follows it
POWERS = range(-292, 325)  # of ten, for doubles of any size


def native_lines(rows: Sequence[Sequence[Any]]) -> str:
    """`metrics_lines`, of cells of any type; in C where they are Python's own numbers."""
    cells = [*chain.from_iterable(rows)]
    try:
        kinds = bytes(map(KINDS.__getitem__, map(type, cells)))
        numbers = array("d", [0.0 if cell is None else cell for cell in cells])
    except (KeyError, OverflowError):
        return metrics_lines(rows)
    write, powers = _writer()
    out = ctypes.create_string_buffer(MOST_BYTES * len(cells))
    count = write(len(rows), len(rows[0]), numbers.buffer_info()[0], kinds, powers, out)
    return metrics_lines(rows) if count < 0 else ctypes.string_at(out, count).decode()


@cache
def _writer() -> tuple[Any, Any]:
    types = [Int64, Int64, Pointer, ctypes.c_char_p, ctypes.c_char_p, Pointer]
    powers = b"".join(map(_power, POWERS))
    return face.library().function("text_rows", types, Int64), powers


def _power(exponent: int) -> bytes:
    """`10^exponent` in 128 bits of which the highest is set, rounded up."""
    ten: int = 10 ** abs(exponent)
    if exponent < 0:
        bits = -((-1 << (127 + ten.bit_length())) // ten)
    else:
        shift = 128 - ten.bit_length()
        bits = ten << shift if shift >= 0 else -(-ten >> -shift)
    return bits.to_bytes(16, "little")
