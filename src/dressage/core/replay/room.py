"""Room for a replay memory: in memory, or in files that the system pages in and out."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.errors import TrainingError

Array = npt.NDArray[Any]
SHARE = 0.7  # of the memory that is free, at most


def allocate(
    shapes: Mapping[str, tuple[tuple[int, ...], Any]], where: str, folder: Path | None, count: int
) -> dict[str, Array]:
    """Arrays of these shapes and types for `count` transitions; on disk they begin as zeros."""
    needed = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in shapes.values())
    free = available_memory()
    fits = free is None or needed <= SHARE * free
    if where == "disk" or (where == "auto" and not fits and folder is not None):
        assert folder is not None
        return _on_disk(shapes, folder, needed, count)
    if not fits:
        raise TrainingError(
            f"buffer_size={count} needs {needed / 2**30:.1f} GiB of memory, and {free_text(free)} "
            "are free: lower buffer_size, or use buffer_on=disk."
        )
    return {name: np.empty(shape, kind) for name, (shape, kind) in shapes.items()}


def refuse_beyond_memory(count: int, each: int, what: str) -> None:
    """TrainingError where `each` bytes for every one of `count` transitions cannot be had; these
    are always in memory."""
    needed, free = count * each, available_memory()
    if free is not None and needed > SHARE * free:
        raise TrainingError(
            f"{what} of buffer_size={count} needs {needed / 2**30:.1f} GiB of memory, and "
            f"{free_text(free)} are free: lower buffer_size."
        )


def _on_disk(
    shapes: Mapping[str, tuple[tuple[int, ...], Any]], folder: Path, needed: int, count: int
) -> dict[str, Array]:
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise TrainingError(
            f"buffer_size={count} needs {needed / 2**30:.1f} GiB on the disk of {folder}, and "
            f"{free / 2**30:.1f} GiB are free: lower buffer_size."
        )
    made: dict[str, Array] = {}
    for name, (shape, kind) in shapes.items():
        # without a name: the system frees it however the process ends
        with tempfile.TemporaryFile(dir=folder, prefix=".ring-") as file:
            file.truncate(max(1, math.prod(shape) * np.dtype(kind).itemsize))
            made[name] = np.memmap(file, kind, "r+", 0, shape)
    return made


def available_memory() -> int | None:
    """Bytes that a process can still have; None on systems that do not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def free_text(free: int | None) -> str:
    return "not enough" if free is None else f"{free / 2**30:.1f} GiB"
