"""Products, networks and heads in C against numpy, torch and finite differences."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import torch

from dressage.core.rng import Rng
from dressage.nets.mlp import make_activation

from .kernels import ACTIVATIONS, Case, Long, error, kernel, pointer

SIZES = [(1, 1, 1), (7, 5, 3), (6, 16, 64), (13, 17, 300), (64, 1, 9), (8, 33, 257), (65, 64, 66)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_products(m: int, n: int, k: int, dtype: Any) -> None:
    random = np.random.default_rng(m)
    a, b = random.normal(size=(m, k)).astype(dtype), random.normal(size=(k, n)).astype(dtype)
    bias, c = random.normal(size=n).astype(dtype), random.normal(size=(m, n)).astype(dtype)
    packed = np.full(kernel("gemm_packed_count", dtype, Long)(Long(n), Long(k)), np.nan, dtype)
    product = a.astype(float) @ b.astype(float)
    limit = 1e-5 if dtype is np.float32 else 1e-14

    def multiply(shift: Any, accumulate: bool, out: np.ndarray) -> np.ndarray:
        sizes = (Long(m), Long(n), Long(k))
        more = (pointer(packed), pointer(shift), ctypes.c_bool(accumulate), pointer(out), Long(n))
        kernel("gemm_packed", dtype)(*sizes, pointer(a), Long(k), *more)
        return out

    kernel("gemm_pack", dtype)(Long(n), Long(k), pointer(b), Long(n), pointer(packed))
    assert error(multiply(None, False, np.full_like(c, np.nan)), product) < limit
    assert error(multiply(None, True, c.copy()), product + c) < limit
    turned, packed[:] = np.ascontiguousarray(b.T), np.nan
    kernel("gemm_pack_transposed", dtype)(
        Long(n), Long(k), pointer(turned), Long(k), pointer(packed)
    )
    assert error(multiply(bias, False, np.full_like(c, np.nan)), product + bias) < limit

    wide = np.full((k, n + 16), np.nan, dtype)  # whole vectors are read, and not used
    wide[:, :n] = b
    found, turned = c.copy(), np.ascontiguousarray(a.T)
    sizes = (Long(m), Long(n), Long(k))
    given = (pointer(turned), Long(m), pointer(wide), Long(n + 16), pointer(found), Long(n))
    kernel("gemm_tn_padded", dtype)(*sizes, *given)
    assert error(found, product + c) < limit


SPARSE_SIZES = [(1, 16, 5), (2, 8, 64), (7, 72, 130), (64, 256, 257), (65, 120, 300), (129, 50, 9)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "n", "k"), SPARSE_SIZES)
def test_products_that_skip_zeros(m: int, n: int, k: int, dtype: Any) -> None:
    """Some zeros, rows of them, columns of them, and a NaN, which is none."""
    random = np.random.default_rng(k)
    n = kernel("gemm_packed_count", dtype, Long)(Long(n), Long(1))  # whole vectors
    stride = k // 8 * 8 + 8
    a = np.full((m, stride), np.nan, dtype)  # eights are read, what is beyond k is not used
    a[:, :k] = random.normal(size=(m, k)) * (random.random((m, k)) < 0.4)
    a[:, :k] *= (random.random(k) < 0.7) * (random.random((m, 1)) < 0.9)
    b = random.normal(size=(k, n)).astype(dtype)
    packed, c = np.full(n * k, np.nan, dtype), np.full((m, n), np.nan, dtype)
    kernel("gemm_pack", dtype)(Long(n), Long(k), pointer(b), Long(n), pointer(packed))

    def multiply() -> np.ndarray:
        sizes, left = (Long(m), Long(n), Long(k)), (pointer(a), Long(stride))
        kernel("gemm_packed_sparse", dtype)(*sizes, *left, pointer(packed), pointer(c), Long(n))
        return c

    product = a[:, :k].astype(float) @ b.astype(float)
    assert error(multiply(), product) < (1e-5 if dtype is np.float32 else 1e-14)
    a[m - 1, k - 1] = np.nan
    assert np.isnan(multiply()[m - 1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 64, 300])
@pytest.mark.parametrize("live", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("inputs", [5, 40, 257])
def test_gradients_of_units_that_are_off(inputs: int, live: float, rows: int, dtype: Any) -> None:
    """Panels of xᵀ · delta with columns of zeros in delta."""
    random = np.random.default_rng(rows)
    x, delta = np.full((rows, 320), np.nan, dtype), np.zeros((rows, 64), dtype)
    x[:, :inputs] = random.normal(size=(rows, inputs))
    outs = 50
    delta[:, :outs] = random.normal(size=(rows, outs)) * (random.random(outs) < live)
    gradient = x[:, :inputs].astype(float).T @ delta[:, :outs].astype(float)
    column = 0
    while column < outs:
        width = kernel("gemm_panel", dtype, Long)(Long(outs - column))
        panel = np.full((inputs, width), np.nan, dtype)
        sizes = (Long(inputs), Long(outs - column), Long(rows))
        right = np.ascontiguousarray(delta[:, column:])
        given = (pointer(x), Long(320), pointer(right), Long(64 - column), pointer(panel))
        kernel("gemm_tn_panel", dtype)(*sizes, *given)
        expected = gradient[:, column : column + width]
        assert error(panel[:, : expected.shape[1]], expected) < (
            1e-5 if dtype is np.float32 else 1e-14
        )
        assert not panel[:, expected.shape[1] :].any()
        column += width


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_float_activations_to_a_few_ulps(name: str) -> None:
    """One unit with weight one and a value head of weight one: the activation itself."""
    case = Case(obs_size=1, categories=(2,), net_arch=[1], activation=name, dtype=np.float32)
    native = case.native(np.zeros_like(case.parameters()))
    start = 1 + 1 + 2 * 2  # the policy's layer and logits
    native.parameters[[start, start + 2]] = 1.0
    x = np.linspace(-30, 30, 20_001).astype(np.float32)[:, None]
    _, _, value = native.act(x)
    expected = make_activation(name)(torch.from_numpy(x).double()).numpy()[:, 0]
    assert np.abs(value - expected).max() <= 4e-7 * np.abs(x).max()
    near = np.abs(x[:, 0]) < 3
    scale = x[:, 0] if name == "gelu" else expected  # our erf is good to 4e-7; torch is 7x nearer
    assert (np.abs(value - expected) <= 1e-6 * np.maximum(np.abs(scale), 0.1))[near].all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("squash", [False, True])
def test_acting_is_torchs(masked: bool, squash: bool) -> None:
    case = Case(
        obs_size=7,
        categories=(3, 5),
        continuous=2,
        rows=150,
        masked=masked,
        squash=squash,
        net_arch=[20],
        layer_norm=True,
    )
    data, rng = case.data, Rng(3)
    mask = data.get("mask")
    uniform = rng.uniform("u", (150, 2)).astype(np.float64)
    normal = rng.normal("n", (150, 2)).astype(np.float64)
    with torch.no_grad():
        out = case.net(torch.from_numpy(data["obs"]), None if mask is None else torch.tensor(mask))
        sample = out.actions.sample(torch.from_numpy(uniform), torch.from_numpy(normal))
        log_prob, mode = out.actions.log_prob(sample).numpy(), out.actions.mode().numpy()
    action, found, value = case.native().act(data["obs"], mask, uniform, normal)
    assert (action[:, :2] == sample.numpy()[:, :2]).all()
    assert error(action, sample.numpy()) < 1e-12
    assert error(found, log_prob) < 1e-9
    assert error(value, out.value.numpy()) < 1e-12
    assert error(case.native().act(data["obs"], mask)[0], mode) < 1e-12


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("squash", [False, True])
def test_gradients_are_differences(activation: str, squash: bool) -> None:
    """Along random directions, so that one number checks every parameter."""
    case = Case(
        categories=(3,),
        continuous=2,
        rows=40,
        net_arch=[9, 6],
        activation=activation,
        squash=squash,
        layer_norm=True,
        ent_coef=0.0 if squash else 0.3,  # of a squashed entropy a part is held fixed
        clip_range=5.0,  # kinks have no derivative
        seed=4,
    )
    if squash:  # a bound has no derivative
        case.data["action"][:, 1:] = np.clip(case.data["action"][:, 1:], -0.9, 0.9)
    native = case.native()
    gradient, _ = native.gradient()
    start, size = native.parameters.copy(), 1e-5
    for seed in range(3):
        direction = np.random.default_rng(seed).normal(size=start.size)
        totals = []
        for sign in (1, -1):
            native.parameters[:] = start + sign * size * direction
            totals.append(native.gradient()[1]["train/loss/total"])
        slope = (totals[0] - totals[1]) / (2 * size)
        limit = 1e-3 if activation == "relu" else 1e-6  # a unit may cross its kink
        assert slope == pytest.approx(gradient @ direction, rel=limit, abs=limit)
