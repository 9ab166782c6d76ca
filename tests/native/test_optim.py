"""Optimizers in C against torch's, the guard against broken gradients, early ends of updates."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import numpy as np
import pytest
import torch

from dressage.algos.ppo import Config
from dressage.core.optimizers import make_optimizer

from .kernels import OPTIMIZERS, Case, Double, Long, OptimSettings, error, kernel, pointer

DISCRETE = {"categories": (3,), "net_arch": [12], "rows": 64, "batch_size": 16}


@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_steps_are_torchs(
    name: str, decay: float, momentum: float, dtype: Any, limit: float
) -> None:
    n, random = 37, np.random.default_rng(0)
    start = random.normal(size=n).astype(dtype)
    gradients = random.normal(size=(12, n)).astype(dtype)
    cfg = Config(optimizer=name, weight_decay=decay, momentum=momentum, betas=(0.7, 0.9))
    value, gradient = (
        torch.from_numpy(start.copy()),
        torch.zeros(n, dtype=torch.from_numpy(start).dtype),
    )
    judge = make_optimizer({"all": value}, {"all": gradient}, {}, cfg)
    judge.param_groups[0]["lr"] = 0.02
    kind = OPTIMIZERS.index(name)
    settings = OptimSettings(
        kind, *cfg.betas, cfg.rmsprop_alpha, cfg.optimizer_eps, decay, momentum
    )
    parameters, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    state = (ctypes.byref(settings), Long(n), pointer(first), pointer(second))
    kernel("optim_start", dtype)(*state)
    for i, g in enumerate(gradients):
        gradient.copy_(torch.from_numpy(g) * 0.5)
        judge.step()
        arrays = (pointer(x) for x in (g, parameters, first, second))
        kernel("optim_step", dtype)(
            ctypes.byref(settings), Double(0.02), Long(i + 1), Long(n), Double(0.5), *arrays
        )
    assert error(parameters, value.numpy()) < limit


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no mode for it")
def test_moments_of_dead_units_end_at_zero() -> None:
    """Left to rounding they stay at the smallest subnormal number, which slows every step down."""
    n = 64
    first = np.full(n, 1e-3, np.float32)
    parameters, second, gradient = np.ones_like(first), np.ones_like(first), np.zeros_like(first)
    settings = OptimSettings(0, 0.9, 0.999, 0.99, 1e-8, 0.0, 0.0)
    for step in range(1, 1001):
        kernel("optim_step", np.float32)(
            ctypes.byref(settings), Double(0.01), Long(step), Long(n), Double(1.0),
            *(pointer(x) for x in (gradient, parameters, first, second)),
        )  # fmt: skip
    assert (first == 0).all()
    # and the mode is over afterwards
    assert (np.full(n, 1e-38, np.float32) * np.float32(0.1) > 0).all()


def test_a_broken_gradient_changes_nothing() -> None:
    case = Case(**DISCRETE)
    case.data["obs"][case.rows // 2, 0] = np.nan
    order, native = case.order(1), case.native()
    before = native.parameters.copy()
    found, expected = native.update(order), case.torch_update(order)
    assert found["train/metrics/skipped_updates"] == expected["train/metrics/skipped_updates"]
    assert found["train/metrics/skipped_updates"] == 1.0
    assert native.steps == {"ppo": 3}
    assert np.isfinite(native.parameters).all() and (native.parameters != before).any()
    assert error(native.parameters, case.parameters()) < 1e-12


def test_an_update_ends_early_by_its_divergence() -> None:
    case = Case(**DISCRETE, learning_rate=0.05, target_kl=0.08, ent_coef=0.01)
    order, native = case.order(20), case.native()
    found, expected = native.update(order, 20), case.torch_update(order)
    assert 1 < expected["minibatches"] < 80
    assert found["minibatches"] == expected["minibatches"]
    assert error(native.parameters, case.parameters()) < 1e-9


def test_updates_go_on_where_others_ended() -> None:
    """Moments and step counts carry over: twice five epochs are ten."""
    case = Case(**DISCRETE)
    order = case.order(10)
    once, twice = case.native(), case.native()
    once.update(order, 10)
    twice.update(order[:5], 5)
    twice.update(order[5:], 5)
    assert (once.parameters == twice.parameters).all() and once.steps == twice.steps
