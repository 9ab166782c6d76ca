"""`Priorities`: sampling in proportion to a number for each transition.

Schaul et al. 2016, "Prioritized experience replay", appendix B.2.1: a tree of sums, and one draw
from each of B equal parts of the total.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EPSILON = 1e-6  # what keeps a transition without error from never being drawn again
WIDTH = 8  # children of a node: the doubles of a cache line, which one look into memory fetches


class Priorities:
    """A tree of sums, eight to a node, in one array: the priorities first, the total last.

    The eight are added and walked in pairs, so every sum is that of a binary tree to the last bit.
    """

    def __init__(self, count: int) -> None:
        nodes = [count]
        while nodes[-1] > 1:
            nodes.append(-(-nodes[-1] // WIDTH))
        ends = np.cumsum(
            [-(-n // WIDTH) * WIDTH for n in nodes]
        )  # whole nodes, of zeros where none
        room = np.zeros(int(ends[-1]) + WIDTH - 1)
        line = -(room.ctypes.data // room.itemsize) % WIDTH  # where a cache line begins
        self.tree = room[line : line + int(ends[-1])]
        self.levels: list[Floats] = np.split(self.tree, ends[:-1])
        self.leaves = self.levels[0]
        self.largest = 1.0  # priority of what has not been learned from yet

    @property
    def total(self) -> float:
        return float(self.levels[-1][0])

    def set(self, places: Places, values: npt.ArrayLike) -> None:
        """New priorities; of a place given twice the last counts."""
        nodes = np.asarray(places, np.int64).reshape(-1)
        self.leaves[nodes] = values
        for level, above in pairwise(self.levels):
            nodes = np.unique(nodes // WIDTH)
            above[nodes] = sums(level.reshape(-1, WIDTH)[nodes])

    def find(self, targets: Floats) -> Places:
        """The leaf at which the running sum passes each target in [0, total)."""
        node, left_over = np.zeros(len(targets), np.int64), targets.astype(np.float64)
        for level in self.levels[-2::-1]:
            children = level.reshape(-1, WIDTH)[node]  # [B, 8], then the half that has the target
            node *= WIDTH
            while (half := children.shape[1] // 2) > 0:
                left = sums(children[:, :half])
                right = (left_over >= left) & (sums(children[:, half:]) > 0.0)  # none beyond all
                left_over -= left * right
                node += half * right
                children = np.where(right[:, None], children[:, half:], children[:, :half])
        return node

    def draw(self, uniform: npt.NDArray[np.float32]) -> Places:
        """`[B]` numbers in [0, 1) -> `[B]` leaves, one from each of B equal parts of the total."""
        count = len(uniform)
        parts = np.arange(count) + uniform.astype(np.float64)
        targets = np.asarray(parts * (self.total / count), np.float64)
        return self.find(targets)


def sums(x: Floats) -> Floats:
    """`[B, 1, 2, 4 or 8]` -> `[B]`, added in pairs."""
    while x.shape[1] > 1:
        x = x[:, ::2] + x[:, 1::2]
    return x[:, 0]
