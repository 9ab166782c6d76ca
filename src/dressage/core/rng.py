"""Every random number of a run: counter-based Philox, keyed by (seed, stream, index).

A draw is a pure function of its name, so nothing needs saving, nothing depends on what was drawn
before, and a resumed run, a seed inside a group and the native engine all see the same numbers.

The layout, which the C engine follows to the bit: Philox4x64-10 with key = (seed, hash of the
stream's name) and a counter that starts at (0, index[0], index[1], index[2]); numpy adds one to the
first word before each block of four 64-bit integers (Salmon et al. 2011, "Parallel random numbers:
as easy as 1, 2, 3"). One 64-bit integer makes one number, so a draw for N environments is a prefix
of the draw for more of them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
Shape = int | Sequence[int]


@cache
def stream_key(stream: str) -> int:
    """64 bits that stand for a stream's name, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(stream.encode(), digest_size=8).digest(), "little")


class Rng:
    """Draws numbers for one run. Stateless: its one generator is set anew for each draw."""

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**63:
            raise ValueError(f"seed is {seed}, expected a whole number from 0 to 2**63 - 1")
        self.seed = seed
        self._generator = np.random.Philox(key=np.zeros(2, np.uint64))
        self._state: Any = dict(self._generator.state)

    def raw(self, stream: str, count: int, *index: int) -> npt.NDArray[np.uint64]:
        """`count` uniform 64-bit integers."""
        state = self._state["state"]
        state["key"][0] = self.seed
        state["key"][1] = stream_key(stream)
        counter = state["counter"]
        counter[:] = 0
        for word, value in enumerate(index, start=1):
            counter[word] = value
        self._state["buffer_pos"] = 4  # nothing buffered: begin a new block
        self._generator.state = self._state
        return self._generator.random_raw(count)

    def uniform(self, stream: str, shape: Shape, *index: int) -> F32:
        """float32 in [0, 1) with 24 random bits: `(raw >> 40) * 2**-24`."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        raw = self.raw(stream, math.prod(shape), *index)
        return ((raw >> 40).astype(np.float32) * np.float32(2.0**-24)).reshape(shape)

    def normal(self, stream: str, shape: Shape, *index: int) -> F32:
        """float32 standard normals, two from each pair of integers (Box and Muller 1958)."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        count = math.prod(shape)
        unit = (self.raw(stream, count + count % 2, *index) >> 11).astype(np.float64)
        radius = np.sqrt(-2.0 * np.log((unit[0::2] + 1.0) * 2.0**-53))  # in (0, 1]: no log(0)
        angle = unit[1::2] * (2.0**-53 * 2.0 * math.pi)
        pairs = np.empty(unit.shape, np.float32)
        pairs[0::2] = radius * np.cos(angle)
        pairs[1::2] = radius * np.sin(angle)
        return pairs[:count].reshape(shape)

    def integers(self, stream: str, shape: Shape, high: int, *index: int) -> npt.NDArray[np.int64]:
        """int64 in [0, high) by multiply and shift; `high` at most 2**32."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        raw = self.raw(stream, math.prod(shape), *index) >> np.uint64(32)
        return ((raw * np.uint64(high)) >> np.uint64(32)).astype(np.int64).reshape(shape)

    def permutation(self, stream: str, count: int, *index: int) -> npt.NDArray[np.int64]:
        """0 … count-1 in the order of `count` random keys (ties keep their order)."""
        return np.argsort(self.raw(stream, count, *index), kind="stable")

    def episode_seed(self, env_index: int, episode_index: int, stream: str = "episode") -> int:
        """The seed that one episode of one environment is reset with: 31 bits."""
        return int(self.raw(stream, 1, env_index, episode_index)[0] >> np.uint64(33))
