"""`Ring`: the newest rows of every environment, in arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.errors import TrainingError

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]


class Ring:
    """Columns `[capacity, N, …]`; row r of the run (a vector step) lies at place r % capacity.

    `low` to `high` are the rows that it holds.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.high = 0  # rows added since the start of the run
        self.n_envs = 0
        self.columns: dict[str, Array] = {}
        self._flat: dict[str, Array] = {}  # the same as [capacity * N, …]

    @property
    def low(self) -> int:
        return max(0, self.high - self.capacity)

    def __len__(self) -> int:
        return self.high - self.low

    def add(self, columns: Mapping[str, Array]) -> None:
        """`[T, N, …]` each; the oldest rows go where there is no room."""
        if not self.columns:
            self._allocate(columns)
        length = len(next(iter(columns.values())))
        skipped = max(0, length - self.capacity)  # overwritten within this very call
        places = np.arange(self.high + skipped, self.high + length) % self.capacity
        split = int(np.argmax(places == 0)) if places[0] else 0
        for name, values in columns.items():
            column, new = self.columns[name], values[skipped:]
            if split:
                column[places[0] : places[0] + split] = new[:split]
            column[places[split] : places[-1] + 1] = new[split:]
        self.high += length

    def take(self, name: str, rows: Rows, envs: Rows) -> Array:
        """The entries of a column at `[…]` rows and environments: `[…, …]`."""
        return self._flat[name].take(self.place(rows, envs), axis=0)

    def place(self, rows: Rows, envs: Rows) -> Rows:
        """One number for where a row of an environment lies."""
        return (rows % self.capacity) * self.n_envs + envs

    def row_of(self, place: Rows) -> tuple[Rows, Rows]:
        """The row and the environment that lie at a place now."""
        newest = self.high - 1
        return newest - (newest - place // self.n_envs) % self.capacity, place % self.n_envs

    def held(self) -> dict[str, Array]:
        """The columns' rows from `low` to `high`, oldest first."""
        places = np.arange(self.low, self.high) % max(self.capacity, 1)
        return {name: column[places] for name, column in self.columns.items()}

    def restore(self, high: int, held: Mapping[str, Array]) -> None:
        """Takes back what `held` gave when the ring was at `high`."""
        if held:
            self.high = high - len(next(iter(held.values())))
            self.add(held)

    def _allocate(self, columns: Mapping[str, Array]) -> None:
        self.n_envs = next(iter(columns.values())).shape[1]
        try:
            empty = {
                name: np.empty((self.capacity, *values.shape[1:]), values.dtype)
                for name, values in columns.items()
            }
        except MemoryError:
            raise TrainingError(self._too_large(columns)) from None
        self._adopt(empty)

    def _adopt(self, columns: dict[str, Array]) -> None:
        self.columns = columns
        self._flat = {name: c.reshape(-1, *c.shape[2:]) for name, c in columns.items()}

    def _too_large(self, columns: Mapping[str, Array]) -> str:
        row = sum(values[:1].nbytes for values in columns.values())
        return (
            f"buffer_size={self.capacity * self.n_envs} needs {self.capacity * row / 2**30:.1f} "
            "GiB, more than this machine has: lower buffer_size."
        )
