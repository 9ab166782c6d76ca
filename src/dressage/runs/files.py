"""Files that survive a crash at any byte: whole or absent, or appended and cut back.

A file that is replaced goes through a temporary sibling, fsync and rename; a log only grows and
is cut back to a known offset. A full disk or a read-only folder becomes a `RunError`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dressage.errors import RunError

JSON_LIMIT = 64 * 2**20  # bytes; our own JSON files are kilobytes
LOG_LIMIT = 1024 * 2**20  # bytes; a log has about a thousand rows

AS_IT_IS = (int, str, bool)  # in JSON

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_NO_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn an `OSError` raised while writing `path` into a sentence for the user."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise RunError(
                f"The disk is full: {path} could not be written. What was there before is "
                "untouched; free some space and resume the run."
            ) from error
        if error.errno in _NO_PERMISSION:
            raise RunError(
                f"{path} cannot be written ({error.strerror}): make the folder writable, or choose "
                "another one with --runs DIR or DRESSAGE_RUNS."
            ) from error
        raise RunError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_all(handle: int, data: bytes | memoryview) -> None:
    """`os.write` until everything is written; a short write is not an error by itself."""
    view = memoryview(data).cast("B")
    while view:
        view = view[os.write(handle, view) :]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable (Windows has no such call and needs none)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make a file's content durable that was written before."""
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def at_once(waits: Sequence[Callable[[], None]]) -> None:
    """Calls what waits for the disk, which takes less time for many files together."""
    raised: list[BaseException] = []

    def call(wait: Callable[[], None]) -> None:
        try:
            wait()
        except BaseException as error:
            raised.append(error)

    # Threads by themselves: to import and start a pool of them takes longer than the disk.
    others = [threading.Thread(target=call, args=(wait,)) for wait in waits[1:]]
    for thread in others:
        thread.start()
    for wait in waits[:1]:
        call(wait)
    for thread in others:
        thread.join()
    if raised:
        raise raised[0]


def write_new(path: Path, content: bytes | str, durable: bool = False) -> None:
    """Write a file under a name that nobody reads yet."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_all(handle, content.encode() if isinstance(content, str) else content)
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(path: Path, content: bytes | str, durable: bool = True) -> None:
    """Replace `path` as a whole: readers see the old content or the new, never a part.

    `durable`: also after a power failure; a killed process loses nothing either way.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    with writing(path):
        try:
            write_new(temporary, content, durable)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        if durable:
            sync_folder(path.parent)


def read_bytes(path: Path, limit: int = LOG_LIMIT, follow_links: bool = True) -> bytearray:
    """A regular file's content, refusing pipes, devices and anything above `limit` bytes."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follow_links:
        if path.is_symlink():  # for systems without O_NOFOLLOW
            raise RunError(f"{path} is a link, which a checkpoint never contains: not read.")
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError as error:
        raise RunError(f"{path} does not exist.") from error
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be opened: {error}.") from error
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode):
        os.close(handle)
        raise RunError(f"{path} is not a regular file.")
    with os.fdopen(handle, "rb") as file:
        if info.st_size > limit:
            raise RunError(f"{path} has {info.st_size:,} bytes, more than the {limit:,} allowed.")
        try:
            content = bytearray(info.st_size)
            length = file.readinto(content)
        except (OSError, MemoryError) as error:
            raise RunError(f"{path} cannot be read: {error or 'not enough memory'}.") from error
    del content[length:]
    return content


def parse_json(content: bytes | bytearray | str, name: object) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise RunError(f"{name} is damaged: it is not valid JSON ({error}).") from error


def read_json(path: Path, follow_links: bool = True) -> Any:
    return parse_json(read_bytes(path, JSON_LIMIT, follow_links), path)


def plain(value: Any) -> Any:
    """The same value in strict JSON types; nan and infinities become "nan", "inf" and "-inf"."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (list, tuple)):
        return [item if type(item) in AS_IT_IS else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (set, frozenset)):
        return [plain(item) for item in sorted(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


def json_text(value: Any, indent: int | None = None) -> str:
    return json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def write_json(path: Path, value: Any, durable: bool = True) -> None:
    """Strict JSON, keys in the order given, replaced atomically."""
    write_atomic(path, json_text(value, indent=2) + "\n", durable)


class AppendLog:
    """A file that only grows. Each `write` reaches the system at once; `sync` reaches the disk.

    `durable`: all that the file holds is on the disk; to sync it in vain takes as long.
    """

    def __init__(self, path: Path, durable: bool = False) -> None:
        self.path, self.durable = path, durable
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with writing(path):
            self._handle: int | None = os.open(path, flags, 0o644)

    def _open(self) -> int:
        if self._handle is None:
            raise RunError(f"{self.path} is closed: the run was already ended.")
        return self._handle

    def offset(self) -> int:
        """Where the file ends; asked of the system, since an interrupt may fall within `write`."""
        return os.fstat(self._open()).st_size

    def write(self, text: str) -> None:
        handle, start = self._open(), self.offset()
        self.durable = False
        with writing(self.path):
            try:
                write_all(handle, text.encode())
            except OSError:
                # Half a line would join with the next one: take it back, which needs no space.
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, start)
                raise

    def sync(self) -> None:
        with writing(self.path):
            os.fsync(self._open())
        self.durable = True

    def truncate(self, offset: int) -> None:
        """Cut back to `offset`; a file that is shorter has lost data and is refused."""
        size = self.offset()
        if not 0 <= offset <= size:
            raise RunError(
                f"{self.path} has {size} bytes, but the checkpoint was made at {offset}: the file "
                "was shortened since. Resume from an earlier checkpoint."
            )
        self.durable = False
        with writing(self.path):
            os.ftruncate(self._open(), offset)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
