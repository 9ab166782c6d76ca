"""Philox streams: pinned values, prefixes, distributions, and numpy's own generator as judge."""

from __future__ import annotations

import numpy as np
import pytest

from dressage.core.rng import Rng, stream_key


def philox_block(key: tuple[int, int], counter: tuple[int, int, int, int]) -> list[int]:
    """Philox4x64-10 of Salmon et al. 2011, written out: what the C engine must compute."""
    words, mask = list(counter), 2**64 - 1
    k0, k1 = key
    for _ in range(10):
        product0 = 0xD2E7470EE14C6C93 * words[0]
        product1 = 0xCA5A826395121157 * words[2]
        words = [
            (product1 >> 64) ^ words[1] ^ k0,
            product1 & mask,
            (product0 >> 64) ^ words[3] ^ k1,
            product0 & mask,
        ]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & mask, (k1 + 0xBB67AE8584CAA73B) & mask
    return words


@pytest.mark.parametrize("index", [(), (0,), (5,), (3, 2**40, 7)])
def test_raw_is_philox_keyed_by_seed_and_stream(index: tuple[int, ...]) -> None:
    raw = Rng(42).raw("act/choice", 9, *index)
    words = (*index, 0, 0, 0)[:3]
    expected = [
        word
        for block in (1, 2, 3)
        for word in philox_block((42, stream_key("act/choice")), (block, *words))
    ]
    assert raw.tolist() == expected[:9]
    judge = np.random.Philox(
        key=np.array([42, stream_key("act/choice")], np.uint64),
        counter=np.array([0, *words], np.uint64),
    )
    assert raw.tolist() == judge.random_raw(9).tolist()


def test_values_are_pinned() -> None:
    """A change here changes every run ever recorded."""
    rng = Rng(1)
    assert rng.raw("minibatch", 2, 3).tolist() == PINNED["raw"]
    assert rng.uniform("u", 3).tolist() == PINNED["uniform"]
    assert np.round(rng.normal("n", 3).astype(float), 6).tolist() == PINNED["normal"]
    assert rng.integers("i", 4, 10).tolist() == PINNED["integers"]
    assert rng.permutation("p", 5).tolist() == PINNED["permutation"]
    assert rng.episode_seed(2, 9) == PINNED["episode_seed"]


PINNED = {
    "raw": [10119030041237031667, 5928772439110850268],
    "uniform": [0.5818615555763245, 0.9830260276794434, 0.8006900548934937],
    "normal": [1.411439, 2.913827, 0.508804],
    "integers": [9, 8, 2, 8],
    "permutation": [3, 0, 4, 2, 1],
    "episode_seed": 1153292075,
}


def test_more_environments_see_the_same_first_numbers() -> None:
    rng = Rng(3)
    for draw in (rng.uniform, rng.normal):
        few, many = draw("s", (2, 3), 5), draw("s", (6, 3), 5)
        assert np.array_equal(few, many[:2])


def test_draws_do_not_depend_on_what_was_drawn_before() -> None:
    first = Rng(3).normal("a", 7, 1)
    rng = Rng(3)
    rng.uniform("b", 5)
    rng.normal("a", 1001, 0)
    assert np.array_equal(rng.normal("a", 7, 1), first)


def test_seeds_streams_and_indices_all_matter() -> None:
    draws = [
        Rng(seed).raw(stream, 4, *index).tobytes()
        for seed in (0, 1)
        for stream in ("a", "b")
        for index in ((), (1,), (0, 1), (0, 0, 1))
    ]
    assert len(set(draws)) == len(draws)


def test_uniforms_are_uniform_and_below_one() -> None:
    x = Rng(0).uniform("test", 200_000)
    assert x.dtype == np.float32
    assert x.min() >= 0.0
    assert x.max() < 1.0
    counts = np.bincount((x * 20).astype(int), minlength=20)
    chi2 = ((counts - 10_000.0) ** 2 / 10_000.0).sum()
    assert chi2 < 43.8  # 99.9 % of chi-squared with 19 degrees of freedom


def test_normals_are_normal() -> None:
    from scipy import stats

    x = Rng(0).normal("test", 100_001).astype(float)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(x[:-1:2], x[1::2])[0, 1]) < 0.02  # the two of a Box-Muller pair


def test_integers_and_permutations_cover_their_range() -> None:
    rng = Rng(0)
    x = rng.integers("test", 70_000, 7)
    assert x.min() == 0
    assert x.max() == 6
    assert abs(np.bincount(x) / 10_000.0 - 1.0).max() < 0.05
    first = [rng.permutation("test", 5, i) for i in range(5_000)]
    assert all(sorted(p) == [0, 1, 2, 3, 4] for p in first)
    places = np.mean([p == np.arange(5)[:, None] for p in np.array(first)[:, None, :]], axis=0)
    assert abs(places - 0.2).max() < 0.03  # every item is in every place a fifth of the time


def test_episode_seeds_fit_and_differ() -> None:
    seeds = {Rng(0).episode_seed(i, j) for i in range(50) for j in range(50)}
    assert len(seeds) == 2500
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert Rng(0).episode_seed(0, 0) != Rng(0).episode_seed(0, 0, "evaluate")


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="expected a whole number"):
        Rng(seed)
