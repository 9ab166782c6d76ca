"""`Ring`: the newest rows of every environment, in arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.replay.frames import Frames, channels_of_a_frame
from dressage.core.replay.room import allocate

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
SLOTS = "#slots"  # ends the name of a column that holds where frames lie, in place of images


class Ring:
    """Columns `[capacity, N, …]`; row r of the run (a vector step) lies at place r % capacity.

    `low` to `high` are the rows that it holds. Images `[C, H, W]` of bytes are kept frame by frame
    (`Frames`), and their column holds the frames' numbers: what a stack shares with the next, and
    an observation with the step before, is stored once.
    """

    def __init__(self, capacity: int, where: str = "memory", folder: Path | None = None) -> None:
        """`where`: memory, disk (in `folder`), or auto: on disk what memory has no room for."""
        self.capacity, self.where, self.folder = capacity, where, folder
        self.high = 0  # rows added since the start of the run
        self.low = 0
        self.n_envs = 0
        self.row_bytes = 0
        self.columns: dict[str, Array] = {}
        self.frames: dict[str, Frames] = {}  # of obs and next_obs: "" or "/part"
        self._flat: dict[str, Array] = {}  # the columns as [capacity * N, …]

    def __len__(self) -> int:
        return self.high - self.low

    def add(self, columns: Mapping[str, Array]) -> None:
        """`[T, N, …]` each; the oldest rows go where there is no room."""
        if not self.columns:
            self._allocate(columns)
        length = len(columns["reward"])
        for start in range(0, length, self.capacity):  # rows are overwritten within this call
            part = {name: values[start : start + self.capacity] for name, values in columns.items()}
            self._add(part, len(part["reward"]))

    def _add(self, columns: Mapping[str, Array], length: int) -> None:
        stored = dict(columns)
        for part, frames in self.frames.items():
            here, there = stored.pop(f"obs{part}"), stored.pop(f"next_obs{part}")
            stored[f"obs{part}{SLOTS}"], stored[f"next_obs{part}{SLOTS}"] = frames.add(here, there)
        self._put(self.high, stored, length)
        self.high += length
        self.low = max(self.low, self.high - self.capacity)
        for part, frames in self.frames.items():
            self.low = frames.oldest_row(self.columns[f"obs{part}{SLOTS}"], self.low, self.high)

    def _put(self, row: int, columns: Mapping[str, Array], length: int) -> None:
        place = row % self.capacity
        split = min(length, self.capacity - place)
        for name, values in columns.items():
            column = self.columns[name]
            column[place : place + split] = values[:split]
            if split < length:
                column[: length - split] = values[split:]

    def take(self, name: str, rows: Rows, envs: Rows) -> Array:
        """The entries of a column at `[…]` rows and environments: `[…, …]`."""
        part = name.removeprefix("next_").removeprefix("obs")
        place = self.place(rows, envs)
        if part in self.frames and name.endswith(f"obs{part}"):
            return self.frames[part].take(self._flat[name + SLOTS].take(place, axis=0))
        return self._flat[name].take(place, axis=0)

    def names(self, prefix: str) -> list[str]:
        """Of the columns that `take` knows and that begin so."""
        return [
            n for column in self.columns if (n := column.removesuffix(SLOTS)).startswith(prefix)
        ]

    def place(self, rows: Rows, envs: Rows) -> Rows:
        """One number for where a row of an environment lies."""
        return (rows % self.capacity) * self.n_envs + envs

    def row_of(self, place: Rows) -> tuple[Rows, Rows]:
        """The row and the environment that lie at a place now."""
        newest = self.high - 1
        return newest - (newest - place // self.n_envs) % self.capacity, place % self.n_envs

    # -- pieces ----------------------------------------------------------------------------------

    def piece(self, begin: int, end: int) -> dict[str, Array]:
        """Everything of the rows from `begin` up to `end`, on its own."""
        places = np.arange(begin, end) % max(self.capacity, 1)
        found = {name: column[places] for name, column in self.columns.items()}
        for part, frames in self.frames.items():
            both = [found[f"{name}obs{part}{SLOTS}"] for name in ("", "next_")]
            found |= frames.piece(part, both)
        return found

    def restore(self, begin: int, piece: Mapping[str, Array]) -> None:
        """Takes a piece back; `rest` says what it all amounts to."""
        columns = {name: values for name, values in piece.items() if not name.startswith("frames")}
        if not self.columns:
            self._allocate_as(columns, piece)
        for part, frames in self.frames.items():
            frames.restore(part, piece)
        self._put(begin, columns, len(piece["reward"]))

    def rest(self, low: int, high: int) -> None:
        """After all pieces: the rows that it holds, of them those that it has room for."""
        self.low, self.high = max(low, high - self.capacity), high
        for part, frames in self.frames.items():
            self.low = frames.oldest_row(self.columns[f"obs{part}{SLOTS}"], self.low, high)
            if high > low:
                last = self.columns[f"next_obs{part}{SLOTS}"][(high - 1) % self.capacity]
                frames.go_on_from(last)

    # -- room ------------------------------------------------------------------------------------

    def _allocate(self, columns: Mapping[str, Array]) -> None:
        """Arrays for columns like these."""
        self.n_envs = columns["reward"].shape[1]
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {}
        for name, values in columns.items():
            part = name.removeprefix("next_").removeprefix("obs")
            if name.endswith(f"obs{part}") and values.dtype == np.uint8 and values.ndim == 5:
                channels, *size = values.shape[2:]
                depth = channels_of_a_frame(columns[f"obs{part}"], columns[f"next_obs{part}"])
                shapes[name + SLOTS] = (self.capacity, self.n_envs, channels // depth), np.int64
                if name.startswith("obs"):
                    size = size if depth == 1 else [depth, *size]
                    self.frames[part] = Frames(size, self.capacity * self.n_envs)
            else:
                shapes[name] = ((self.capacity, *values.shape[1:]), values.dtype)
        self._make(shapes)

    def _allocate_as(self, columns: Mapping[str, Array], piece: Mapping[str, Array]) -> None:
        """Arrays for stored columns such as these."""
        self.n_envs = columns["reward"].shape[1]
        for name in columns:
            if name.startswith("obs") and name.endswith(SLOTS):
                part = name.removeprefix("obs").removesuffix(SLOTS)
                size = piece[f"frames{part}"].shape[1:]
                self.frames[part] = Frames(size, self.capacity * self.n_envs)
        self._make({n: ((self.capacity, *v.shape[1:]), v.dtype) for n, v in columns.items()})

    def _make(self, shapes: Mapping[str, tuple[tuple[int, ...], Any]]) -> None:
        wanted = dict(shapes)
        for part, frames in self.frames.items():
            wanted[f"frames{part}"] = (frames.shape, np.uint8)
        made = allocate(wanted, self.where, self.folder, self.capacity * self.n_envs)
        for part, frames in self.frames.items():
            frames.pool = made.pop(f"frames{part}")
        self.columns = made
        self._flat = {name: column.reshape(-1, *column.shape[2:]) for name, column in made.items()}
        pools = sum(frames.pool.nbytes for frames in self.frames.values())
        self.row_bytes = (sum(c.nbytes for c in made.values()) + pools) // self.capacity
