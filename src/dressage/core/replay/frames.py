"""`Frames`: images stored once, though stacks and successors show them many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Slots = npt.NDArray[np.int64]
MARGIN = 0.04  # room for the first frames of episodes, as a share of the transitions


def channels_of_a_frame(obs: Array, next_obs: Array) -> int:
    """How many channels of images `[T, N, C, H, W]` are one frame: 1 in a stack of grey ones, 3 in
    colours. The fewest by which every step moves its stack on; where nothing moves, the number that
    such images usually have."""
    channels = int(obs.shape[2])
    moved = (obs != next_obs).any(axis=(2, 3, 4))
    if not moved.any():
        return 3 if channels % 3 == 0 else 1
    here, there = obs[moved], next_obs[moved]
    for depth in range(1, channels):
        if channels % depth == 0 and np.array_equal(there[:, :-depth], here[:, depth:]):
            return depth
    return channels


class Frames:
    """A pool of frames, `[H, W]` or of several channels `[D, H, W]`; frame number s lies at
    s % room, so the oldest are overwritten.

    A frame is found again where it must be: an observation is the last step's successor, and a
    successor's stack is the observation's, moved on by one. Whatever is not (the first stack of an
    episode, a wrapper that draws over its frames) is stored as new, so nothing is ever lost.
    """

    def __init__(self, size: Sequence[int], transitions: int) -> None:
        self.shape = (int(transitions * (1 + MARGIN)) + 64, *size)
        self.next = 0  # number of the next new frame
        self.pool: Array  # [room, …]
        self._last: Slots | None = None  # [N, S]: the successors of the newest row

    @property
    def room(self) -> int:
        return self.shape[0]

    def add(self, obs: Array, next_obs: Array) -> tuple[Slots, Slots]:
        """`[T, N, C, H, W]` each -> the numbers of their frames, `[T, N, S]`."""
        length, n_envs = obs.shape[:2]
        obs, next_obs = (x.reshape(length, n_envs, -1, *self.shape[1:]) for x in (obs, next_obs))
        here, there = (np.empty(obs.shape[:3], np.int64) for _ in range(2))
        for t in range(length):
            for i in range(n_envs):
                before = self._last[i] if self._last is not None else None
                if before is None or not self._equal(before, obs[t, i]):
                    before = self._stack(obs[t, i], None)
                here[t, i] = before
                there[t, i] = self._stack(next_obs[t, i], before)
            self._last = there[t].copy()
        return here, there

    def _equal(self, slots: Slots, stack: Array) -> bool:
        return all(
            np.array_equal(self.pool[s % self.room], f) for s, f in zip(slots, stack, strict=True)
        )

    def _stack(self, stack: Array, before: Slots | None) -> Slots:
        """The numbers of a stack's frames `[S]`, of which all but the last may follow `before`."""
        slots = np.empty(len(stack), np.int64)
        for k, frame in enumerate(stack):
            known = -1
            if before is not None and k + 1 < len(stack):
                known = int(before[k + 1])
            elif before is None and k:
                known = int(slots[k - 1])  # the first frame of an episode fills the stack
            if known < 0 or not np.array_equal(self.pool[known % self.room], frame):
                known, self.next = self.next, self.next + 1
                self.pool[known % self.room] = frame
            slots[k] = known
        return slots

    def take(self, slots: Slots) -> Array:
        """`[…, S]` numbers -> `[…, C, H, W]`."""
        found = self.pool.take(slots % self.room, axis=0)
        return found.reshape(*slots.shape[:-1], -1, *self.shape[-2:])

    def oldest_row(self, column: Slots, low: int, high: int) -> int:
        """The first row from `low` on whose frames are all still there."""
        oldest = self.next - self.room
        while oldest > 0 and low < high and column[low % len(column)].min() < oldest:
            low += 1
        return low

    # -- pieces ----------------------------------------------------------------------------------

    def piece(self, part: str, columns: Sequence[Slots]) -> dict[str, Array]:
        """The frames that columns of numbers point at, with the number of the first."""
        if not columns[0].size:
            return {f"frames{part}": self.pool[:0], f"frames{part}#first": np.array(0)}
        first = min(int(column.min()) for column in columns)
        end = max(int(column.max()) for column in columns) + 1
        return {
            f"frames{part}": self.pool[np.arange(first, end) % self.room],
            f"frames{part}#first": np.array(first),
        }

    def restore(self, part: str, piece: Mapping[str, Array]) -> None:
        frames, first = piece[f"frames{part}"], int(piece[f"frames{part}#first"])
        self.pool[np.arange(first, first + len(frames)) % self.room] = frames
        self.next = max(self.next, first + len(frames))

    def go_on_from(self, last: Slots) -> None:
        """The successors `[N, S]` of the newest row."""
        self._last = last.copy()
