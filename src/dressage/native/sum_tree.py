"""The tree behind prioritised replay in C, where the library is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.replay.priorities import Floats, Places, Priorities
from dressage.native import face
from dressage.native.face import Int64, Pointer


class NativePriorities(Priorities):
    """The same numbers, many times faster."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        function = face.library().function
        self._set = function("sum_tree_set", [Pointer, Int64, Int64, Pointer, Pointer])
        self._find = function("sum_tree_find", [Pointer, Int64, Int64, Pointer, Pointer])

    def set(self, places: Places, values: npt.ArrayLike) -> None:
        at = np.ascontiguousarray(places, np.int64).reshape(-1)
        given: Any = np.ascontiguousarray(np.broadcast_to(np.asarray(values, np.float64), at.shape))
        self._set(self.tree.ctypes.data, self.size, at.size, at.ctypes.data, given.ctypes.data)

    def find(self, targets: Floats) -> Places:
        targets, found = np.ascontiguousarray(targets), np.empty(len(targets), np.int64)
        self._find(
            self.tree.ctypes.data, self.size, len(found), targets.ctypes.data, found.ctypes.data
        )
        return found


def make_priorities(count: int) -> Priorities:
    return NativePriorities(count) if face.available() else Priorities(count)
