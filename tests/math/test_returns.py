"""Returns against naive loops, hand-worked cases, and the properties that define them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dressage.math import returns
from dressage.math.returns import (
    discounted_returns,
    explained_variance,
    gae,
    lambda_returns,
    n_step_returns,
    vtrace,
)


def experience(T=40, N=5, seed=0, dtype=np.float64, ends=0.1):
    """Random steps whose next_value is the next row's value inside an episode."""
    rng = np.random.default_rng(seed)
    reward, value, next_value = (rng.normal(size=(T, N)).astype(dtype) for _ in range(3))
    terminated = rng.random((T, N)) < ends
    truncated = rng.random((T, N)) < ends  # both at once happens too
    inside = ~(terminated | truncated)[:-1]
    next_value[:-1][inside] = value[1:][inside]
    return reward, value, next_value, terminated, truncated


def naive_gae(reward, value, next_value, terminated, truncated, gamma, lam):
    advantage = np.zeros_like(reward)
    for n in range(reward.shape[1]):
        following = 0.0
        for t in reversed(range(len(reward))):
            successor = 0.0 if terminated[t, n] else next_value[t, n]
            delta = reward[t, n] + gamma * successor - value[t, n]
            cut = terminated[t, n] or truncated[t, n]
            following = delta + (0.0 if cut else gamma * lam * following)
            advantage[t, n] = following
    return advantage, advantage + value


def naive_n_step(reward, next_value, terminated, truncated, gamma, n):
    T, N = reward.shape
    target = np.zeros_like(reward)
    for e in range(N):
        for t in range(T):
            for k in range(n):
                target[t, e] += gamma**k * reward[t + k, e]
                last = k == n - 1 or t + k == T - 1
                if terminated[t + k, e] or truncated[t + k, e] or last:
                    if not terminated[t + k, e]:
                        target[t, e] += gamma ** (k + 1) * next_value[t + k, e]
                    break
    return target


def naive_vtrace(
    log_ratio, reward, value, next_value, terminated, truncated, gamma, rho_bar, c_bar
):
    """The sum of products of IMPALA's equation 1, term by term."""
    T, N = reward.shape
    ratio, target = np.exp(log_ratio), value.copy()
    for e in range(N):
        for s in range(T):
            trace = 1.0
            for t in range(s, T):
                successor = 0.0 if terminated[t, e] else next_value[t, e]
                delta = reward[t, e] + gamma * successor - value[t, e]
                target[s, e] += gamma ** (t - s) * trace * min(rho_bar, ratio[t, e]) * delta
                trace *= min(c_bar, ratio[t, e])
                if terminated[t, e] or truncated[t, e]:
                    break
    following = np.where(terminated, 0.0, next_value)
    inside = ~(terminated | truncated)[:-1]
    following[:-1][inside] = target[1:][inside]
    return target, np.minimum(rho_bar, ratio) * (reward + gamma * following - value)


@pytest.mark.parametrize("shape", [(40, 5), (1, 1), (50, 1), (30, 33)])
@pytest.mark.parametrize(("gamma", "lam"), [(0.99, 0.95), (1.0, 1.0), (0.9, 0.0), (0.0, 0.5)])
def test_gae_equals_the_naive_loop(shape, gamma, lam):
    steps = experience(*shape)
    for found, expected in zip(gae(*steps, gamma, lam), naive_gae(*steps, gamma, lam), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_gae_by_hand():
    # Three steps, the last one terminal; gamma 0.5, lambda 0.5, so a decay of 0.25.
    # delta = 1 + 0.5*4 - 2 = 1;  2 + 0.5*6 - 4 = 1;  3 + 0 - 6 = -3
    # advantage = -3;  1 - 0.75 = 0.25;  1 + 0.0625 = 1.0625
    advantage, target = gae([1, 2, 3], [2, 4, 6], [4, 6, 100], [0, 0, 1], [0, 0, 0], 0.5, 0.5)
    assert advantage.tolist() == [1.0625, 0.25, -3.0]
    assert target.tolist() == [3.0625, 4.25, 3.0]


def test_truncation_bootstraps_and_termination_does_not():
    for terminated, truncated, expected in [(0, 1, 1 + 0.9 * 10), (1, 0, 1.0), (1, 1, 1.0)]:
        flags = [[terminated], [0]], [[truncated], [0]]
        reward, next_value = [[1.0], [7.0]], [[10.0], [20.0]]
        _, target = gae(reward, [[3.0], [4.0]], next_value, *flags, 0.9, 0.95)
        assert target[0, 0] == pytest.approx(expected)
        assert discounted_returns(reward, next_value, *flags, 0.9)[0, 0] == pytest.approx(expected)
        assert n_step_returns(reward, next_value, *flags, 0.9, 5)[0, 0] == pytest.approx(expected)
        # Nothing after the cut reaches back.
        assert target[1, 0] == pytest.approx(7 + 0.9 * 20)


def test_lambda_one_is_monte_carlo_and_lambda_zero_is_td():
    reward, value, next_value, terminated, truncated = steps = experience()
    _, target = gae(*steps, 0.97, 1.0)
    rest = (reward, next_value, terminated, truncated, 0.97)
    np.testing.assert_allclose(target, discounted_returns(*rest), atol=1e-12)
    advantage, _ = gae(*steps, 0.97, 0.0)
    td_error = reward + 0.97 * np.where(terminated, 0.0, next_value) - value
    np.testing.assert_allclose(advantage, td_error, atol=1e-12)
    np.testing.assert_allclose(lambda_returns(*rest, 0.0), td_error + value, atol=1e-12)


def test_lambda_returns_are_the_returns_of_gae():
    reward, _, next_value, terminated, truncated = steps = experience()
    _, target = gae(*steps, 0.97, 0.8)
    found = lambda_returns(reward, next_value, terminated, truncated, 0.97, 0.8)
    np.testing.assert_allclose(found, target, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40, 1000])
def test_n_step_equals_the_naive_loop(n):
    reward, _, next_value, terminated, truncated = experience()
    rest = (reward, next_value, terminated, truncated, 0.97)
    np.testing.assert_allclose(n_step_returns(*rest, n), naive_n_step(*rest, n), atol=1e-12)
    if n >= len(reward):
        np.testing.assert_allclose(n_step_returns(*rest, n), discounted_returns(*rest), atol=1e-12)


@pytest.mark.parametrize(("rho_bar", "c_bar"), [(1.0, 1.0), (2.0, 1.0), (1.5, 0.7)])
def test_vtrace_equals_the_naive_sum(rho_bar, c_bar):
    steps = experience(T=25, N=3)
    log_ratio = np.random.default_rng(1).normal(size=steps[0].shape)
    target, advantage = vtrace(log_ratio, *steps, 0.97, rho_clip=rho_bar, c_clip=c_bar)
    expected = naive_vtrace(log_ratio, *steps, 0.97, rho_bar, c_bar)
    np.testing.assert_allclose(target, expected[0], atol=1e-12)
    np.testing.assert_allclose(advantage, expected[1], atol=1e-12)


def test_vtrace_on_policy_is_gae():
    steps = experience()
    target, advantage = vtrace(np.zeros((40, 5)), *steps, 0.97, 0.9)
    expected_advantage, expected_target = gae(*steps, 0.97, 0.9)
    np.testing.assert_allclose(target, expected_target, atol=1e-12)
    np.testing.assert_allclose(advantage, expected_advantage, atol=1e-12)


def test_vtrace_survives_enormous_ratios():
    steps = experience()
    target, advantage = vtrace(np.full((40, 5), 1e6), *steps, 0.97)
    assert np.isfinite(target).all()
    np.testing.assert_array_equal(target, vtrace(np.zeros((40, 5)), *steps, 0.97)[0])
    target, advantage = vtrace(np.full((40, 5), -1e6), *steps, 0.97)
    np.testing.assert_array_equal(target, steps[1])
    assert not advantage.any()


@pytest.mark.parametrize("shape", [(60, 1), (33, 8), (20, 40)])
def test_both_forms_of_the_loop_agree_bit_for_bit(shape, monkeypatch):
    steps = experience(*shape, dtype=np.float32)
    found = []
    for few_columns in (0, 10_000):
        monkeypatch.setattr(returns, "FEW_COLUMNS", few_columns)
        found.append(gae(*steps, 0.99, 0.95))
    np.testing.assert_array_equal(found[0], found[1])


def test_a_column_does_not_depend_on_its_neighbours():
    steps = experience(T=50, N=20, dtype=np.float32)
    together, _ = gae(*steps, 0.99, 0.95)
    alone, _ = gae(*(array[:, 7:8] for array in steps), 0.99, 0.95)
    np.testing.assert_array_equal(together[:, 7:8], alone)


def test_types_layouts_and_axes():
    steps = experience(T=30, N=6, dtype=np.float32)
    advantage, target = gae(*steps, 0.99, 0.95)
    assert advantage.dtype == target.dtype == np.float32
    exact = gae(*(array.astype(np.float64) for array in steps[:3]), *steps[3:], 0.99, 0.95)
    assert exact[0].dtype == np.float64
    # Accumulated in float64: float32 rounds the result once, it does not gather error.
    np.testing.assert_array_equal(advantage, exact[0].astype(np.float32))
    as_floats = gae(*steps[:3], *(flag.astype(np.float32) for flag in steps[3:]), 0.99, 0.95)
    np.testing.assert_array_equal(as_floats[0], advantage)
    fortran = gae(*(np.asfortranarray(array) for array in steps), 0.99, 0.95)
    np.testing.assert_array_equal(fortran[0], advantage)
    agents = gae(*(array.reshape(30, 2, 3) for array in steps), 0.99, 0.95)
    np.testing.assert_array_equal(agents[0].reshape(30, 6), advantage)
    for function, extra in (
        (discounted_returns, ()),
        (lambda_returns, (0.9,)),
        (n_step_returns, (3,)),
    ):
        found = function(steps[0], *steps[2:], 0.99, *extra)
        assert found.dtype == np.float32
        assert found.shape == (30, 6)


def test_inputs_are_not_changed():
    steps = experience()
    copies = [array.copy() for array in steps]
    gae(*steps, 0.99, 0.95)
    vtrace(steps[0], *steps, 0.99)
    lambda_returns(steps[0], *steps[2:], 0.99, 0.9)
    n_step_returns(steps[0], *steps[2:], 0.99, 4)
    for array, copy in zip(steps, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_value_after_a_terminal_step_may_be_nan():
    reward, value, next_value, terminated, truncated = experience()
    expected, _ = gae(reward, value, next_value, terminated, truncated, 0.99, 0.95)
    next_value[terminated] = np.nan
    found, _ = gae(reward, value, next_value, terminated, truncated, 0.99, 0.95)
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(lambda_returns(reward, next_value, terminated, truncated, 0.99, 0.5)).all()
    assert np.isfinite(n_step_returns(reward, next_value, terminated, truncated, 0.99, 4)).all()


def test_empty_rollouts_give_empty_results():
    empty = np.zeros((0, 3))
    assert gae(*[empty] * 5, 0.99, 0.95)[0].shape == (0, 3)
    assert n_step_returns(*[empty] * 4, 0.99, 3).shape == (0, 3)
    assert vtrace(*[empty] * 6, 0.99)[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("odd", "shape", "message"),
    [
        (0, (4, 1), r"reward has shape \(4, 1\), expected \(4,\): squeeze it"),
        (1, (4, 1), r"value has shape \(4, 1\), expected \(4,\): squeeze it"),
        (3, (5,), r"terminated has shape \(5,\), expected \(4,\)$"),
        (2, (), r"next_value is a single number"),
    ],
)
def test_a_wrong_shape_is_named(odd, shape, message):
    arrays = [np.zeros(4) for _ in range(5)]
    arrays[odd] = np.zeros(shape)
    with pytest.raises(ValueError, match=message):
        gae(*arrays, 0.99, 0.95)


def test_wrong_numbers_are_named():
    steps = experience()
    with pytest.raises(ValueError, match=r"gamma is 1\.5"):
        gae(*steps, 1.5, 0.95)
    with pytest.raises(ValueError, match="gae_lambda is nan"):
        gae(*steps, 0.9, math.nan)
    with pytest.raises(ValueError, match="n is 0"):
        n_step_returns(steps[0], *steps[2:], 0.9, 0)
    with pytest.raises(ValueError, match="rho_clip is 0"):
        vtrace(steps[0], *steps, 0.9, rho_clip=0)
    with pytest.raises(ValueError, match="transpose it"):
        gae(steps[0].T, *steps[1:], 0.9, 0.9)


def test_explained_variance():
    target = np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)
    assert explained_variance(target, target) == 1.0
    assert explained_variance(np.zeros(4), target) == 0.0
    assert explained_variance(-target, target) == pytest.approx(-3.0)  # Var(2 x) = 4 Var x
    assert math.isnan(explained_variance(target, np.full(4, 0.1, dtype=np.float32)))
    assert math.isnan(explained_variance([], []))
    with pytest.raises(ValueError, match="prediction has shape"):
        explained_variance(target[:, None], target)
