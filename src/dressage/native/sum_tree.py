"""The tree behind prioritised replay in C, where the library is there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dressage.core.replay.priorities import Places, Priorities
from dressage.native import face
from dressage.native.face import Int64, Pointer, address


class NativePriorities(Priorities):
    """The same numbers, many times faster."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        function = face.library().function
        types = [Pointer, Int64, Int64, Pointer, Pointer]
        self._set, self._draw = function("sum_tree_set", types), function("sum_tree_draw", types)
        self._tree, self._count = address(self.tree, np.float64), count

    def set(self, places: Places, values: npt.ArrayLike) -> None:
        at, given = np.ascontiguousarray(places, np.int64), np.empty(places.shape)
        given[...] = values
        self._set(
            self._tree, self._count, at.size, address(at, np.int64), address(given, np.float64)
        )

    def draw(self, uniform: npt.NDArray[np.float32]) -> Places:
        count = len(uniform)
        found = np.empty(count, np.int64)
        self._draw(
            self._tree, self._count, count, address(uniform, np.float32), address(found, np.int64)
        )
        return found


def make_priorities(count: int) -> Priorities:
    return NativePriorities(count) if face.available() else Priorities(count)
