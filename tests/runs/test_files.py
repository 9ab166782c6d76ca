from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from dressage.errors import RunError
from dressage.runs import files
from dressage.runs.files import AppendLog, at_once, plain, read_json, write_atomic, write_json


def fail_with(code: int):
    def call(*_args, **_kwargs):
        raise OSError(code, os.strerror(code))

    return call


def test_json_is_strict_ordered_and_takes_numpy(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(
        path, {"b": np.float32(0.5), "a": [np.int64(3), float("nan"), -np.inf], "c": (1, None)}
    )
    text = path.read_text()
    assert text.endswith("\n")

    def no_constants(name: str) -> None:
        raise AssertionError(name)

    assert json.loads(text, parse_constant=no_constants) == {
        "b": 0.5,
        "a": [3, "nan", "-inf"],
        "c": [1, None],
    }
    assert list(read_json(path)) == ["b", "a", "c"]
    assert plain({"x": np.arange(2), "y": np.bool_(True)}) == {"x": [0, 1], "y": True}
    with pytest.raises(TypeError, match="no JSON form"):
        plain(object())


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": 1} x'])
def test_damaged_json_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"a\.json is damaged"):
        read_json(path)


def test_oversized_missing_and_special_files_are_refused(tmp_path: Path) -> None:
    big = tmp_path / "big.json"
    with big.open("wb") as file:
        file.truncate(files.JSON_LIMIT + 1)
    with pytest.raises(RunError, match="more than"):
        read_json(big)
    with pytest.raises(RunError, match="does not exist"):
        read_json(tmp_path / "none.json")
    with pytest.raises(RunError):
        read_json(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunError, match="not a regular file"):  # and does not wait for a writer
        read_json(tmp_path / "pipe")


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
@pytest.mark.parametrize(
    ("code", "sentence"),
    [(errno.ENOSPC, "disk is full"), (errno.EROFS, "cannot be written"), (errno.EIO, "cannot be")],
)
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, code: int, sentence: str
) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    monkeypatch.setattr(files.os, broken, fail_with(code))
    with pytest.raises(RunError, match=sentence):
        write_json(path, {"new": 2})
    monkeypatch.undo()
    assert read_json(path) == {"old": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(files.os, "write", lambda handle, data: real(handle, data[:3]))
    write_atomic(tmp_path / "a", "abcdefghij")
    log = AppendLog(tmp_path / "log")
    log.write("äbcdefg\n")
    assert (tmp_path / "a").read_text() == "abcdefghij"
    assert (tmp_path / "log").read_text() == "äbcdefg\n"
    assert log.offset() == 9


def test_log_appends_cuts_and_reopens(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "log")
    log.write("one\n")
    mark = log.offset()
    log.write("two\n")
    log.sync()
    log.close()
    log = AppendLog(tmp_path / "log")
    assert log.offset() == 8
    log.truncate(mark)
    log.write("three\n")
    assert (tmp_path / "log").read_text() == "one\nthree\n"
    with pytest.raises(RunError, match="was shortened"):
        log.truncate(99)
    log.close()
    with pytest.raises(RunError, match="closed"):
        log.write("x")


def test_a_line_cut_off_by_a_full_disk_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AppendLog(tmp_path / "log")
    log.write("one\n")
    real, calls = os.write, []

    def half_then_full(handle, data):
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "full")
        return real(handle, data[:2])

    monkeypatch.setattr(files.os, "write", half_then_full)
    with pytest.raises(RunError, match="disk is full"):
        log.write("two\n")
    monkeypatch.undo()
    assert (tmp_path / "log").read_text() == "one\n"
    log.write("three\n")
    assert (tmp_path / "log").read_text() == "one\nthree\n"


def test_an_unwritable_folder_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests may run as root, whom permissions do not stop: the system call is made to fail instead.
    monkeypatch.setattr(files.os, "open", fail_with(errno.EACCES))
    with pytest.raises(RunError, match=r"--runs DIR"):
        AppendLog(tmp_path / "log")
    with pytest.raises(RunError, match=r"--runs DIR"):
        write_atomic(tmp_path / "a", "x")


def test_waits_run_side_by_side_and_their_errors_are_heard() -> None:
    met = threading.Barrier(3, timeout=10)  # breaks unless all three wait at the same time
    at_once([met.wait] * 3)
    at_once([])
    done: list[int] = []
    with pytest.raises(RunError, match="full"):
        at_once([lambda: done.append(1), fail, lambda: done.append(2)])
    assert sorted(done) == [1, 2]


def fail() -> None:
    raise RunError("full")
