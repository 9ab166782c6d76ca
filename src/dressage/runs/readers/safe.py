"""Opening what strangers wrote: bounded sizes, no links out of the folder, nothing executed.

YAML becomes plain data whatever its tags say; of a zip only named entries are read, into memory; an
npz is taken apart by hand, since `numpy.load` trusts the sizes that a file claims.
"""

from __future__ import annotations

import math
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from dressage.errors import RunError
from dressage.runs.files import JSON_LIMIT, parse_json, read_bytes
from dressage.runs.table import Array

YAML_LIMIT = 4 * 2**20  # bytes
YAML_VALUES = 100_000  # after aliases are written out
YAML_DEPTH = 60
ENTRY_LIMIT = 64 * 2**20  # bytes of one unpacked entry of a zip
ENTRIES = 10_000  # in a zip
FILES = 20_000  # looked at in a folder
DEPTH = 6  # folders below the given one


def walk(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Regular files below a folder, sorted, at most `FILES`; links are never followed."""
    left = FILES
    todo = [(folder, 0)]
    while todo and left > 0:
        here, level = todo.pop(0)
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            left -= 1
            try:
                if entry.is_symlink():
                    continue
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
                elif entry.is_dir(follow_symlinks=False) and level < depth:
                    todo.append((Path(entry.path), level + 1))
            except OSError:
                continue
            if left <= 0:
                return


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder, without links, by name."""
    try:
        with os.scandir(folder) as found:
            return sorted(
                Path(entry.path)
                for entry in found
                if not entry.is_symlink() and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def is_file(path: Path) -> bool:
    """Whether there is a regular file, and not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def written(path: Path) -> float:
    """When a file was last written to; 0 if nobody knows."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def open_file(path: Path) -> IO[bytes]:
    """A regular file to read from, which is not a link."""
    try:
        handle = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_BINARY", 0),
        )
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be opened: {error}.") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise RunError(f"{path} is not a regular file.")
    return os.fdopen(handle, "rb")


def read_text(path: Path, limit: int = JSON_LIMIT) -> str:
    return read_bytes(path, limit, follow_links=False).decode("utf-8", "replace")


def read_json_file(path: Path) -> Any:
    return parse_json(read_bytes(path, JSON_LIMIT, follow_links=False), path)


def read_yaml(path: Path) -> Any:
    return parse_yaml(read_bytes(path, YAML_LIMIT, follow_links=False), path)


def parse_yaml(content: bytes | bytearray | str, name: object) -> Any:
    """Plain data: mappings, lists, texts, numbers. Tags of Python objects make no objects: a tuple
    is a list, an OrderedDict a mapping, anything else is what it was written with."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = content if isinstance(content, str) else bytes(content).decode("utf-8", "replace")
    try:
        node = yaml.compose(text, Loader=loader)
        return None if node is None else _Plain(yaml.constructor.SafeConstructor()).value(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise RunError(f"{name} is damaged: it is not valid YAML ({reason}).") from error


class _Plain:
    """Makes values of YAML's nodes; an alias counts as often as it is used, never for free."""

    def __init__(self, constructor: Any) -> None:
        self._constructor = constructor
        self._left = YAML_VALUES
        self._above: list[int] = []  # the nodes that this one lies in

    def value(self, node: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it unfolds to more than {YAML_VALUES:,} values")
        if len(self._above) > YAML_DEPTH or id(node) in self._above:
            raise ValueError("it is nested too deeply, or within itself")
        if not isinstance(node.value, list):
            return self._scalar(node)
        self._above.append(id(node))
        try:
            if node.id == "mapping":
                return {_key(self.value(key)): self.value(value) for key, value in node.value}
            values = [self.value(value) for value in node.value]
        finally:
            self._above.pop()
        if node.tag.endswith("collections.OrderedDict"):  # [[[key, value], …]]
            return _pairs(values)
        return values

    def _scalar(self, node: Any) -> Any:
        kind = node.tag.rpartition(":")[2]
        if kind not in ("int", "float", "bool", "null"):
            return node.value
        try:
            value = getattr(self._constructor, f"construct_yaml_{kind}")(node)
        except (ValueError, KeyError, OverflowError):
            return node.value
        return _finite_int(value)


def _finite_int(value: Any) -> Any:
    """Integers that no float can hold become text."""
    return str(value)[:40] if isinstance(value, int) and abs(value) > 2**1000 else value


def _key(value: Any) -> str:
    return value if isinstance(value, str) else str(value)[:200]


def _pairs(values: list[Any]) -> Any:
    pairs = values[0] if len(values) == 1 else values
    if isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return {_key(key): value for key, value in pairs}
    return values


def zip_entries(path: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The content of the named entries that a zip has, none of them unpacked to disk."""
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            if len(infos) > ENTRIES:
                raise RunError(f"{path} has {len(infos):,} entries, more than {ENTRIES:,}.")
            found = {}
            for info in infos:
                if info.filename not in names:
                    continue
                if info.file_size > ENTRY_LIMIT:
                    raise RunError(
                        f"{path}: its entry {info.filename} unpacks to {info.file_size:,} bytes, "
                        f"more than the {ENTRY_LIMIT:,} allowed."
                    )
                with archive.open(info) as entry:
                    found[info.filename] = entry.read(ENTRY_LIMIT)
            return found
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
        raise RunError(f"{path} is damaged: it is not a readable zip file ({error}).") from error
    except (RuntimeError, zipfile.LargeZipFile, MemoryError) as error:  # encrypted, or no memory
        raise RunError(f"{path} cannot be read: {error}.") from error
    except Exception as error:
        if type(error).__module__ in ("zlib", "lzma", "_lzma"):
            raise RunError(f"{path} is damaged: {error}.") from error
        raise


def npz_arrays(path: Path, names: tuple[str, ...]) -> dict[str, Array]:
    """The named arrays of numbers in an npz file; objects, which would need pickle, are refused."""
    entries = zip_entries(path, tuple(f"{name}.npy" for name in names))
    return {
        name.removesuffix(".npy"): _npy_array(content, f"{path}: {name}")
        for name, content in entries.items()
    }


def _npy_array(content: bytes, name: str) -> Array:
    import io

    from numpy.lib import format as npy

    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(stream)
    except Exception as error:  # numpy parses the header with ast, tokenize and struct
        raise RunError(f"{name} is damaged: it is not an array ({error}).") from error
    if dtype.hasobject or dtype.kind not in "biuf":
        raise RunError(f"{name} holds {dtype}, expected numbers: not read.")
    data = content[stream.tell() :]
    if math.prod(shape) * dtype.itemsize != len(data) or any(size < 0 for size in shape):
        raise RunError(f"{name} is damaged: it claims {shape}, but has {len(data)} bytes.")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
