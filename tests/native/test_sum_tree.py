"""Prioritised sampling in C gives what numpy gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dressage.core.replay.priorities import Priorities
from dressage.core.rng import Rng
from dressage.native.sum_tree import NativePriorities, make_priorities


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
            drawn = rng.uniform("draw", 300, i)
            assert np.array_equal(here.draw(drawn), there.draw(drawn))
            assert (here.leaves[here.draw(drawn)] > 0).all()


@pytest.mark.parametrize("make", [Priorities, make_priorities])
@pytest.mark.parametrize("count", [1, 8, 9, 600])
def test_a_draw_is_where_the_running_sum_passes_it(
    make: Callable[[int], Priorities], count: int
) -> None:
    tree, generator = make(count), np.random.default_rng(count)
    values = generator.integers(0, 5, count).astype(float)  # whole: no sum is rounded
    values[-1] = 1.0
    tree.set(np.arange(count), values)
    uniform = generator.random(512).astype(np.float32)
    targets = (np.arange(512) + uniform.astype(float)) * (values.sum() / 512)
    passed = np.searchsorted(np.cumsum(values), targets, side="right")
    assert tree.total == values.sum()
    assert np.array_equal(tree.draw(uniform), passed)
