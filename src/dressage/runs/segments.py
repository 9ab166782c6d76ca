"""Segments: arrays too large to write with every checkpoint, each written once and never changed.

They lie in `replay/` beside the checkpoints, which name those they need with size and hash. One is
deleted only when no checkpoint that a resume could use names it any more.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import RunError
from dressage.runs.files import read_bytes, sync_folder, writing
from dressage.runs.tensors import parse_tensors, write_tensors

FOLDER = "replay"
LIMIT = 2**32  # bytes of a file
_NAME = re.compile(r"[0-9]{1,18}-[0-9]{1,18}\.safetensors")
Arrays = Mapping[str, np.ndarray[Any, Any]]
Entry = dict[str, Any]  # {"sha256": ..., "bytes": ...}


def segment_name(begin: int, end: int) -> str:
    """Of the rows from `begin` up to `end`."""
    return f"{begin}-{end}.safetensors"


def segment_begin(name: str) -> int:
    """The row at which a segment of this name begins."""
    return int(name.partition("-")[0])


def is_segment(name: str, entry: Any) -> bool:
    """Whether an entry of a manifest names a segment, and no file elsewhere."""
    match entry:
        case {"sha256": str(), "bytes": int()}:
            return _NAME.fullmatch(name) is not None
    return False


def write_segment(run_path: Path, name: str, arrays: Arrays) -> Entry:
    """Writes a new segment, to last: the checkpoints after it count on it."""
    folder = run_path / FOLDER
    temporary = folder / f".{name}.{os.getpid()}.tmp"
    with writing(folder / name):
        folder.mkdir(exist_ok=True)
        temporary.unlink(missing_ok=True)
        try:
            sha256, size = write_tensors(temporary, arrays)
            os.replace(temporary, folder / name)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(folder)
    return {"sha256": sha256, "bytes": size}


def segment_bytes(run_path: Path, name: str, entry: Entry) -> bytearray:
    """A segment's content, if it is whole."""
    where = run_path / FOLDER / name
    content = read_bytes(where, min(int(entry["bytes"]), LIMIT), follow_links=False)
    if len(content) != entry["bytes"]:
        raise RunError(
            f"{where} has {len(content)} bytes, but a checkpoint counts on {entry['bytes']}: the "
            "replay memory was cut off; use an earlier checkpoint."
        )
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise RunError(
            f"{where} does not have the hash that a checkpoint names: the replay memory is damaged "
            "or was changed; use an earlier checkpoint."
        )
    return content


def read_segment(run_path: Path, name: str, entry: Entry) -> dict[str, np.ndarray[Any, Any]]:
    return parse_tensors(segment_bytes(run_path, name, entry), run_path / FOLDER / name)


def keep_segments(run_path: Path, names: Collection[str]) -> None:
    """Deletes all other segments, and what a crash left of new ones."""
    folder = run_path / FOLDER
    if not folder.is_dir():
        return
    with writing(folder):
        for entry in folder.iterdir():
            if entry.name not in names and not entry.is_symlink() and entry.is_file():
                entry.unlink()
