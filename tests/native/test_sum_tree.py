"""Prioritised sampling in C gives what numpy gives."""

from __future__ import annotations

import numpy as np
import pytest

from dressage.core.replay.priorities import Priorities
from dressage.core.rng import Rng
from dressage.native.sum_tree import NativePriorities


@pytest.mark.parametrize("count", [1, 2, 7, 1000, 4097])
def test_both_trees_are_one(count: int) -> None:
    here, there = Priorities(count), NativePriorities(count)
    generator, rng = np.random.default_rng(count), Rng(0)
    for tree in (here, there):
        tree.set(np.arange(count), 1.0)
    for i in range(20):
        places = generator.integers(0, count, 64)
        values = generator.random(64) * (generator.random(64) > 0.3)
        here.set(places, values)
        there.set(places, values)
        assert here.tree.tobytes() == there.tree.tobytes()
        if here.total > 0:
            drawn = rng.uniform("draw", 256, i)
            assert np.array_equal(here.draw(drawn), there.draw(drawn))
            assert (here.leaves[here.draw(drawn)] > 0).all()
