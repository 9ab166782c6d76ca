from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dressage.math.running import RunningMoments


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    shape=st.sampled_from([(), (3,), (2, 2)]),
    offset=st.sampled_from([0.0, 1e6, -1e4]),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_batches_equal_the_moments_of_everything(sizes, shape, offset, seed):
    rng = np.random.default_rng(seed)
    batches = [rng.normal(size=(size, *shape)) + offset for size in sizes]
    everything = np.concatenate(batches)
    moments = RunningMoments(shape)
    for batch in batches:
        moments.update(batch)
    assert moments.count == len(everything)
    if moments.count:
        np.testing.assert_allclose(moments.mean, everything.mean(axis=0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moments.var, everything.var(axis=0), rtol=1e-8, atol=1e-12)


def test_all_leading_axes_are_samples():
    values = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    moments, flat = RunningMoments((3,)), RunningMoments((3,))
    moments.update(values)
    flat.update(values.reshape(20, 3))
    single = RunningMoments((3,))
    single.update(values[0, 0])
    assert (moments.count, single.count) == (20, 1)
    np.testing.assert_array_equal(moments.mean, flat.mean)


def test_memory_layout_does_not_reach_the_last_bit():
    values = np.random.default_rng(0).normal(size=(500, 3))
    moments, fortran = RunningMoments((3,)), RunningMoments((3,))
    moments.update(values)
    fortran.update(np.asfortranarray(values))
    np.testing.assert_array_equal(fortran.mean, moments.mean)
    np.testing.assert_array_equal(fortran.m2, moments.m2)


def test_merge_equals_one_that_saw_both():
    rng = np.random.default_rng(0)
    a, b, both = RunningMoments((2,)), RunningMoments((2,)), RunningMoments((2,))
    first, second = rng.normal(size=(7, 2)), 5 + rng.normal(size=(30, 2))
    a.update(first)
    b.update(second)
    both.update(np.concatenate([first, second]))
    a.merge(b)
    a.merge(RunningMoments((2,)))
    assert a.count == both.count
    np.testing.assert_allclose(a.mean, both.mean)
    np.testing.assert_allclose(a.var, both.var)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_reload_continues_bit_for_bit(shape):
    rng = np.random.default_rng(0)
    moments, reloaded = RunningMoments(shape), RunningMoments(shape)
    for _ in range(10):
        moments.update(rng.normal(size=(8, *shape)).astype(np.float32))
    state = moments.state()
    reloaded.load(state)
    for _ in range(10):
        batch = rng.normal(size=(8, *shape)).astype(np.float32)
        for each in (moments, reloaded):
            each.update(batch)
        np.testing.assert_array_equal(moments.normalise(batch), reloaded.normalise(batch))
    for key, array in moments.state().items():
        np.testing.assert_array_equal(array, reloaded.state()[key])
        assert array.dtype == state[key].dtype
        assert array.shape == state[key].shape
    assert int(state["count"]) == 80  # a state is a copy, not a view of what goes on


def test_normalise():
    moments = RunningMoments((2,))
    np.testing.assert_allclose(moments.normalise([[3.0, -4.0]]), [[3.0, -4.0]])  # nothing seen yet
    moments.update([[0.0, 10.0], [2.0, 30.0]])  # mean (1, 20), variance (1, 100)
    found = moments.normalise(np.array([[3.0, 0.0], [1e9, -1e9]]), clip=5.0)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[2.0, -2.0], [5.0, -5.0]], rtol=1e-6)
    np.testing.assert_allclose(moments.normalise([4.0, 40.0], None, centre=False), [4, 4])
    constant = RunningMoments()
    constant.update([7.0, 7.0])
    assert constant.normalise(7.0) == 0.0
    assert constant.normalise(np.float32(7.5), clip=10.0) == 10.0


def test_what_does_not_fit_is_refused():
    moments = RunningMoments((3,))
    with pytest.raises(ValueError, match=r"batch has shape \(4, 2\)"):
        moments.update(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="batch has shape"):
        moments.update(1.0)
    with pytest.raises(ValueError, match="other has shape"):
        moments.merge(RunningMoments((2,)))
    good = moments.state()
    for bad in (
        {"mean": good["mean"]},
        good | {"mean": np.zeros(2)},
        good | {"m2": np.zeros(3, dtype=np.float32)},
        good | {"m2": np.full(3, -1.0)},
        good | {"count": np.array(-1)},
    ):
        with pytest.raises(ValueError):
            moments.load(bad)
