from __future__ import annotations

import contextlib
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from dressage.errors import RunError
from dressage.runs.tensors import HEADER_LIMIT, parse_tensors, write_tensors

DTYPES = ["f8", "f4", "f2", "i8", "u8", "i4", "u4", "i2", "u2", "i1", "u1", "?", "c8"]


def every_kind() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    arrays = {}
    for dtype in DTYPES:
        for shape in [(), (0,), (2, 0, 3), (5,), (2, 3)]:
            arrays[f"net/{dtype}{shape}"] = np.asarray(rng.random(shape) * 90).astype(dtype)
    arrays["nan"] = np.array([np.nan, np.inf, -0.0])
    arrays["largest"] = np.array([2**64 - 1], np.uint64)
    return arrays


def test_round_trip_of_every_type_and_shape(tmp_path: Path) -> None:
    arrays = every_kind()
    digest, size = write_tensors(tmp_path / "a", arrays)
    content = (tmp_path / "a").read_bytes()
    assert size == len(content)
    assert len(digest) == 64
    loaded = parse_tensors(bytearray(content), "a")
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert loaded[name].tobytes() == array.tobytes()
        assert loaded[name].flags.writeable
        assert loaded[name].flags.aligned


def test_same_bytes_as_the_safetensors_library(tmp_path: Path) -> None:
    arrays = every_kind()
    write_tensors(tmp_path / "a", arrays)
    content = (tmp_path / "a").read_bytes()
    assert content == save(arrays)
    assert set(load(content)) == set(arrays)


def test_strided_and_big_endian_arrays_are_stored_right(tmp_path: Path) -> None:
    strided = np.arange(12.0).reshape(3, 4)[:, ::2].T
    big = np.array([1.5, 2.5], ">f8")
    write_tensors(tmp_path / "a", {"strided": strided, "big": big})
    loaded = parse_tensors(bytearray((tmp_path / "a").read_bytes()), "a")
    assert np.array_equal(loaded["strided"], strided)
    assert np.array_equal(loaded["big"], big)


def test_objects_and_texts_are_not_written(tmp_path: Path) -> None:
    for value in (np.array([{}], object), np.array(["x"])):
        with pytest.raises(TypeError, match="cannot hold"):
            write_tensors(tmp_path / "a", {"x": value})
    with pytest.raises(ValueError, match="not a name"):
        write_tensors(tmp_path / "a", {"__metadata__": np.zeros(1)})


def forged(header: Any, data: bytes = b"") -> bytearray:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return bytearray(struct.pack("<Q", len(text)) + text + data)


def entry(dtype: Any = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


HOSTILE = {
    "empty": bytearray(),
    "pickle": bytearray(pickle.dumps({"weight": [1.0]})),
    "zip": bytearray(b"PK\x03\x04" + bytes(100)),
    "giant header": bytearray(struct.pack("<Q", 2**63) + b"{}"),
    "header above the limit": bytearray(struct.pack("<Q", HEADER_LIMIT + 1) + b"{}"),
    "header beyond the end": bytearray(struct.pack("<Q", 100) + b"{}"),
    "not json": forged(b"{not json"),
    "deep json": forged(b"[" * 200_000),
    "a list": forged([1]),
    "entry is a number": forged({"a": 1}),
    "unknown type": forged({"a": entry("PICKLE")}, bytes(4)),
    "type is a list": forged({"a": entry([])}, bytes(4)),
    "negative size": forged({"a": entry(shape=[-1])}, bytes(4)),
    "size is a float": forged({"a": entry(shape=[1.0])}, bytes(4)),
    "size is a flag": forged({"a": entry(shape=[True])}, bytes(4)),
    "overflowing shape": forged({"a": entry(shape=[2**33, 2**33], offsets=[0, 0])}),
    "huge shape": forged({"a": entry(shape=[2**47], offsets=[0, 2**49])}, bytes(4)),
    "huge but empty": forged({"a": entry(shape=[0, 2**40, 2**40], offsets=[0, 0])}),
    "too many dimensions": forged({"a": entry(shape=[1] * 100)}, bytes(4)),
    "shape and size disagree": forged({"a": entry(shape=[2])}, bytes(4)),
    "outside": forged({"a": entry(offsets=[4, 8])}, bytes(4)),
    "negative offset": forged({"a": entry(offsets=[-4, 0])}, bytes(4)),
    "overlap": forged({"a": entry(), "b": entry()}, bytes(4)),
    "gap": forged({"a": entry(offsets=[4, 8])}, bytes(8)),
    "trailing bytes": forged({"a": entry()}, bytes(5)),
    "three offsets": forged({"a": entry(offsets=[0, 4, 8])}, bytes(4)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    with pytest.raises(RunError):
        parse_tensors(HOSTILE[name], "x.safetensors")


@given(st.binary(max_size=300))
def test_random_bytes_never_crash(content: bytes) -> None:
    with contextlib.suppress(RunError):
        parse_tensors(bytearray(content), "x")


@given(st.data())
def test_a_flipped_byte_never_crashes(data: st.DataObject) -> None:
    content = bytearray(save({"a": np.arange(3.0), "b": np.array(1, np.uint8)}))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RunError):
        parse_tensors(content, "x")
