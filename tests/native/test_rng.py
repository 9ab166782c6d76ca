"""The C generators against core.rng and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.seeding import np_random
from hypothesis import given, settings
from hypothesis import strategies as st

from dressage.core.rng import Rng
from dressage.native.face import Int64, Pointer, UInt64, address, library
from dressage.native.rng import NativeRng

seeds = st.integers(0, 2**63 - 1)
streams = st.sampled_from(["action", "minibatch", "episode", "noise/0", ""])
indices = st.lists(st.integers(0, 2**64 - 1), max_size=3)
counts = st.integers(0, 300)


@settings(max_examples=300, deadline=None)
@given(seed=seeds, stream=streams, index=indices, count=counts, high=st.integers(1, 2**32))
def test_the_same_bits_as_the_python_generator(
    seed: int, stream: str, index: list[int], count: int, high: int
) -> None:
    expected, found = Rng(seed), NativeRng(seed)
    pairs = [
        (expected.raw(stream, count, *index), found.raw(stream, count, *index)),
        (expected.uniform(stream, count, *index), found.uniform(stream, count, *index)),
        (
            expected.integers(stream, count, high, *index),
            found.integers(stream, count, high, *index),
        ),
        (expected.permutation(stream, count, *index), found.permutation(stream, count, *index)),
    ]
    for a, b in pairs:
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
    normal_a, normal_b = (r.normal(stream, (count,), *index) for r in (expected, found))
    np.testing.assert_array_max_ulp(normal_a, normal_b, 1)


def test_episode_seeds() -> None:
    for seed in (0, 1, 12345, 2**63 - 1):
        expected, found = Rng(seed), NativeRng(seed)
        for env in range(20):
            for episode in range(20):
                assert expected.episode_seed(env, episode) == found.episode_seed(env, episode)


@pytest.mark.parametrize("count", [1, 2, 255, 4096, 100_003])
def test_large_permutations(count: int) -> None:
    expected = Rng(7).permutation("minibatch", count, 3, 1)
    np.testing.assert_array_equal(NativeRng(7).permutation("minibatch", count, 3, 1), expected)


def test_normals_are_normal() -> None:
    expected, found = (r.normal("noise", 200_001, 5) for r in (Rng(3), NativeRng(3)))
    np.testing.assert_array_max_ulp(expected, found, 1)
    assert abs(found.mean()) < 0.01 and abs(found.std() - 1.0) < 0.01


def test_the_seeding_of_gymnasium() -> None:
    call = library().function("seeding_random", [UInt64, Int64, Pointer])
    out = np.empty(5)
    many = np.random.default_rng(0).integers(0, 2**31, 3000).tolist()
    wide = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64).tolist()
    for seed in [*range(2000), *many, *wide, 2**31 - 1, 2**32 - 1, 2**32, 2**64 - 1]:
        call(seed, 5, address(out, np.float64))
        np.testing.assert_array_equal(out, np_random(seed)[0].random(5))
