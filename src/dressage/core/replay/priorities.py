"""`Priorities`: sampling in proportion to a number for each transition.

Schaul et al. 2016, "Prioritized experience replay", appendix B.2.1: a tree of sums, and one draw
from each of B equal parts of the total.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EPSILON = 1e-6  # what keeps a transition without error from never being drawn again


class Priorities:
    """A binary tree in one array: the sum of all at 1, the leaves from `size` on."""

    def __init__(self, count: int) -> None:
        self.size = 1 << max(0, (count - 1).bit_length())
        self.tree = np.zeros(2 * self.size)
        self.largest = 1.0  # priority of what has not been learned from yet

    @property
    def leaves(self) -> Floats:
        return self.tree[self.size :]

    @property
    def total(self) -> float:
        return float(self.tree[1])

    def set(self, places: Places, values: npt.ArrayLike) -> None:
        """New priorities; of a place given twice the last counts."""
        nodes = self.size + np.asarray(places, np.int64).reshape(-1)
        self.tree[nodes] = values
        while nodes[0] > 1:
            nodes = np.unique(nodes >> 1)
            self.tree[nodes] = self.tree[2 * nodes] + self.tree[2 * nodes + 1]

    def find(self, targets: Floats) -> Places:
        """The leaf at which the running sum passes each target in [0, total)."""
        node, left_over = np.ones(len(targets), np.int64), targets.astype(np.float64)
        while node[0] < self.size:
            node *= 2
            left = self.tree[node]
            right = (left_over >= left) & (self.tree[node + 1] > 0.0)  # rounding may point past all
            left_over -= left * right
            node += right
        return node - self.size

    def draw(self, uniform: npt.NDArray[np.float32]) -> Places:
        """`[B]` numbers in [0, 1) -> `[B]` leaves, one from each of B equal parts of the total."""
        count = len(uniform)
        parts = np.arange(count) + uniform.astype(np.float64)
        targets = np.asarray(parts * (self.total / count), np.float64)
        return self.find(targets)
