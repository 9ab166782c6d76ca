"""The gradient noise scale against gradients whose scale is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dressage.math.noise_scale import noise_scale


def gradients(batches: int, rows: int, seed: int = 0) -> np.ndarray:
    """Of a true gradient with |G|^2 = 4 and single rows with tr(Sigma) = 900: B_simple = 225."""
    rng = np.random.default_rng(seed)
    true = np.zeros(100)
    true[0] = 2.0
    each = true + 3.0 * rng.normal(size=(batches, rows, 100))
    return np.asarray(each.mean(axis=1))


def test_it_finds_the_scale() -> None:
    found = noise_scale(gradients(400, 32), 32)
    assert found.value == pytest.approx(225.0, rel=0.1)
    assert found.gradient == pytest.approx(4.0, rel=0.1)
    assert found.noise == pytest.approx(900.0, rel=0.05)
    assert found.low < 225.0 < found.high


def test_it_is_the_papers_estimate() -> None:
    """Appendix A.1 of McCandlish et al. 2018, with B_big = M B_small, written out."""
    g, small = gradients(20, 8), 8
    big = small * len(g)
    small_square, big_square = np.square(g).sum(1).mean(), np.square(g.mean(0)).sum()
    signal = (big * big_square - small * small_square) / (big - small)
    noise = (small_square - big_square) / (1 / small - 1 / big)
    found = noise_scale(g, small)
    assert found.gradient == pytest.approx(signal) and found.noise == pytest.approx(noise)
    assert found.value == pytest.approx(noise / signal)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = [
        (found := noise_scale(gradients(32, 32, seed), 32)).low < 225.0 < found.high
        for seed in range(100)
    ]
    assert 85 <= sum(held) <= 100


def test_noise_without_a_signal_has_no_scale() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(4, 1000))
    noise -= noise.mean(axis=0)  # the pairs' inner products are then negative in the mean
    found = noise_scale(noise, 16)
    assert math.isinf(found.value) and found.low == 64.0


def test_one_gradient_is_not_enough() -> None:
    with pytest.raises(ValueError, match=r"\[M, P\]"):
        noise_scale(np.ones((2, 5)), 16)
