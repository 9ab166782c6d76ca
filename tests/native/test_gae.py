"""gae.c and normalise.c against math/returns.py, math/running.py and core/normalizer.py."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dressage.core.normalizer import ObsNormalizer, RewardNormalizer
from dressage.math.returns import gae, lambda_returns
from dressage.math.running import RunningMoments
from dressage.native.face import Double, Int64, Pointer, address

from .libraries import library_for

REALS: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
C_REALS: dict[str, Any] = {"f32": ctypes.c_float, "f64": ctypes.c_double}
reals = st.sampled_from(sorted(REALS))
sizes = st.integers(1, 70)


class Moments(ctypes.Structure):
    """`running_moments` of normalise.h."""

    _fields_ = (("count", Int64), ("size", Int64), ("mean", Pointer), ("m2", Pointer))

    @classmethod
    def like(cls, python: RunningMoments) -> tuple[Moments, np.ndarray, np.ndarray]:
        mean, m2 = np.array(python.mean, ndmin=1), np.array(python.m2, ndmin=1)
        return cls(python.count, mean.size, mean.ctypes.data, m2.ctypes.data), mean, m2


def episode_arrays(real: str, T: int, N: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = {
        name: (rng.normal(size=(T, N)) * 10).astype(REALS[real])
        for name in ("reward", "value", "next_value")
    }
    arrays["terminated"] = rng.random((T, N)) < 0.1
    arrays["truncated"] = rng.random((T, N)) < 0.1
    arrays["next_value"][arrays["terminated"]] = np.nan
    return arrays


@settings(max_examples=100, deadline=None)
@given(real=reals, T=sizes, N=sizes, seed=st.integers(0, 1000), gamma=st.floats(0, 1))
def test_gae(real: str, T: int, N: int, seed: int, gamma: float) -> None:
    given_arrays = episode_arrays(real, T, N, seed)
    expected = gae(**given_arrays, gamma=gamma, gae_lambda=0.95)
    found = [np.empty((T, N), REALS[real]) for _ in range(2)]
    call = library_for(real).kernel(
        "gae", real, [Int64, Int64, *[Pointer] * 5, Double, Double, *[Pointer] * 2]
    )
    inputs = [address(array, array.dtype.type) for array in given_arrays.values()]
    call(T, N, *inputs, gamma, 0.95, *(array.ctypes.data for array in found))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=50, deadline=None)
@given(
    real=reals, T=sizes, N=sizes, seed=st.integers(0, 1000), lam=st.sampled_from([0.0, 0.9, 1.0])
)
def test_lambda_returns(real: str, T: int, N: int, seed: int, lam: float) -> None:
    arrays = episode_arrays(real, T, N, seed)
    arrays.pop("value")
    arrays["next_value"] = np.nan_to_num(arrays["next_value"])
    expected = lambda_returns(**arrays, gamma=0.99, return_lambda=lam)
    found = np.empty((T, N), REALS[real])
    call = library_for(real).kernel(
        "lambda_returns", real, [Int64, Int64, *[Pointer] * 4, Double, Double, Pointer]
    )
    call(T, N, *(array.ctypes.data for array in arrays.values()), 0.99, lam, found.ctypes.data)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=100, deadline=None)
@given(
    real=reals,
    rows=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    size=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
def test_running_moments_and_observations(real: str, rows: list[int], size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    python = ObsNormalizer(size, clip=5.0)
    native, mean, m2 = Moments.like(python.moments)
    update = library_for(real).kernel("moments_update", real, [Pointer, Int64, Pointer, Pointer])
    scratch = np.empty(2 * size)
    for count in rows:
        batch = (rng.normal(size=(count, size)) * 7 + 100).astype(REALS[real])
        python.update(batch)
        update(ctypes.byref(native), count, batch.ctypes.data, scratch.ctypes.data)
        assert native.count == python.moments.count
        np.testing.assert_array_equal(mean, python.moments.mean)
        np.testing.assert_array_equal(m2, python.moments.m2)
    if real == "f64":
        return
    mean_f32, scale, out = np.empty(size, "f4"), np.empty(size, "f4"), np.empty_like(batch)
    library_for(real).kernel("obs_scale", real, [Pointer] * 3)(
        ctypes.byref(native), mean_f32.ctypes.data, scale.ctypes.data
    )
    kinds = [Int64, Int64, *[Pointer] * 3, C_REALS[real], Pointer]
    library_for(real).kernel("obs_normalise", real, kinds)(
        count, size, batch.ctypes.data, mean_f32.ctypes.data, scale.ctypes.data, 5.0,
        out.ctypes.data,
    )  # fmt: skip
    assert out.tobytes() == np.asarray(python(batch)).tobytes()


@pytest.mark.parametrize(("T", "N"), [(1, 1), (5, 1), (32, 8), (128, 4), (7, 131)])
def test_rewards(T: int, N: int) -> None:
    python = RewardNormalizer(N, gamma=0.99, clip=3.0)
    native, mean, m2 = Moments.like(python.moments)
    discounted, scratch = np.zeros(N), np.empty((T, N))
    kinds = [Pointer, Pointer, Int64, Int64, *[Pointer] * 3, Double, C_REALS["f32"]]
    call = library_for("f32").kernel("reward_normalise", "f32", [*kinds, Pointer, Pointer])
    for seed in range(4):
        arrays = episode_arrays("f32", T, N, seed)
        reward, terminated, truncated = (
            arrays[name] for name in ("reward", "terminated", "truncated")
        )
        python.update(reward, terminated | truncated)
        expected = python.scaled(reward)
        out = np.empty_like(reward)
        call(
            ctypes.byref(native), discounted.ctypes.data, T, N, reward.ctypes.data,
            terminated.ctypes.data, truncated.ctypes.data, 0.99, 3.0, scratch.ctypes.data,
            out.ctypes.data,
        )  # fmt: skip
        np.testing.assert_array_equal(mean[0], python.moments.mean)
        np.testing.assert_array_equal(m2[0], python.moments.m2)
        np.testing.assert_array_equal(discounted, python.discounted)
        assert out.tobytes() == expected.tobytes()
