"""The libraries that tests run: the installed one in float, and one in double of their own."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from dressage.native import build, face


@contextmanager
def building() -> Iterator[None]:
    """One of pytest's processes builds at a time; the others find what it built."""
    folder = build.objects_folder()
    assert folder is not None, "tests of the native engine run in a checkout"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_installed() -> None:
    """The installed library from the sources as they stand; a BuildError says why not."""
    with building():
        build.build(folder=build.objects_folder())
    face._load.cache_clear()


@cache
def library_for(real: str) -> face.Library:
    """The library that computes in `real`, f32 or f64; in double for this machine's level only."""
    if real == "f32":
        return face.library()
    level, folder = face.library().variant, build.objects_folder()
    assert folder is not None
    with building():
        target = folder / f"{real}-{level}.so"
        return face.Library(build.build(target, folder, (real,), (level,)))
