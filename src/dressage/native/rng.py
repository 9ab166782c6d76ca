"""`core.rng.Rng` drawn by the C library: the same names, the same numbers."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.rng import F32, Rng, Shape, stream_key
from dressage.native.face import Int, Int64, Pointer, UInt64, address, library


class RngName(ctypes.Structure):
    """`rng_name` of rng.h."""

    _fields_ = (("seed", UInt64), ("stream", UInt64), ("index", UInt64 * 3))


def rng_name(seed: int, stream: str, index: tuple[int, ...] = ()) -> RngName:
    return RngName(seed, stream_key(stream), (UInt64 * 3)(*index))


class NativeRng(Rng):
    """Draws in C."""

    def _draw(self, function: str, out: npt.NDArray[Any], name: RngName, *more: Any) -> None:
        kinds = [Pointer, Int64, *(UInt64 for _ in more), Pointer]
        result = Int if function == "rng_permutation" else None
        call = library().function(function, kinds, result)
        if call(ctypes.byref(name), out.size, *more, address(out, out.dtype.type)):
            raise MemoryError(f"{function} for {out.size} numbers")

    def raw(self, stream: str, count: int, *index: int) -> npt.NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self._draw("rng_raw", out, rng_name(self.seed, stream, index))
        return out

    def uniform(self, stream: str, shape: Shape, *index: int) -> F32:
        return self._floats("rng_uniform", stream, shape, index)

    def normal(self, stream: str, shape: Shape, *index: int) -> F32:
        return self._floats("rng_normal", stream, shape, index)

    def _floats(self, function: str, stream: str, shape: Shape, index: tuple[int, ...]) -> F32:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        out = np.empty(math.prod(shape), np.float32)
        self._draw(function, out, rng_name(self.seed, stream, index))
        return out.reshape(shape)

    def integers(self, stream: str, shape: Shape, high: int, *index: int) -> npt.NDArray[np.int64]:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        out = np.empty(math.prod(shape), np.int64)
        self._draw("rng_integers", out, rng_name(self.seed, stream, index), high)
        return out.reshape(shape)

    def permutation(self, stream: str, count: int, *index: int) -> npt.NDArray[np.int64]:
        out = np.empty(count, np.int32)
        self._draw("rng_permutation", out, rng_name(self.seed, stream, index))
        return out.astype(np.int64)

    def episode_seed(self, env_index: int, episode_index: int, stream: str = "episode") -> int:
        call = library().function("rng_episode_seed", [UInt64] * 4, UInt64)
        return int(call(self.seed, stream_key(stream), env_index, episode_index))
