"""Rollouts from C are those of the Collector and of `prepare`, to the bit."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dressage.native import structs
from dressage.native.face import Pointer

from .iterating import ENVS, Engine, Reference, Setting, compare, kernel, pointer


def check(setting: Setting, iterations: int = 3) -> list[Any]:
    """Several rollouts, the weights moving between them; the episodes that ended."""
    engine, reference = Engine(setting), Reference(setting)
    random, ended = np.random.default_rng(0), []
    for _ in range(iterations):
        steps, metrics = reference.collect()
        engine.collect()
        compare(engine, reference, steps, metrics)
        ended += reference.episodes
        change = (random.normal(size=engine.weights.parameters.size) * 0.1).astype(np.float32)
        engine.weights.parameters += change
        reference.weights.parameters += change
    return ended


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("env", ENVS)
def test_every_environment(env: str, normalize: bool) -> None:
    setting = Setting(env, normalize_obs=normalize, normalize_reward=normalize)
    ended = check(setting, 4)
    assert any(e.truncated for e in ended)


def test_episodes_that_end_by_themselves() -> None:
    ended = check(Setting("CartPole-v1", n_envs=7, n_steps=40, time_limit=500))
    assert ended and not any(e.truncated for e in ended)


def test_both_ends_at_once_count_as_terminated() -> None:
    """CartPole falls at steps that the clock ends too, if it ends every one of them."""
    ended = check(Setting("CartPole-v1", n_envs=64, n_steps=30, time_limit=9))
    kinds = {e.truncated for e in ended if e.length == 9}
    assert kinds == {True, False}


@pytest.mark.parametrize("n_threads", [2, 3, 8])
@pytest.mark.parametrize("n_envs", [16, 37, 67, 150, 515])
def test_no_result_depends_on_threads(n_envs: int, n_threads: int) -> None:
    check(Setting("CartPole-v1", n_envs, n_steps=9, normalize_obs=True, n_threads=n_threads))
    check(Setting("Pendulum-v1", n_envs, n_steps=9, normalize_batch=True, n_threads=n_threads), 1)


@settings(max_examples=40, deadline=None)
@given(
    env=st.sampled_from(sorted(ENVS)),
    n_envs=st.integers(1, 140),
    n_steps=st.integers(1, 40),
    n_threads=st.integers(1, 4),
    time_limit=st.integers(1, 30),
    flags=st.tuples(*[st.booleans()] * 5),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_sizes(
    env: str,
    n_envs: int,
    n_steps: int,
    n_threads: int,
    time_limit: int,
    flags: tuple[bool, ...],
    seed: int,
) -> None:
    obs, reward, batch, shared, squash = flags
    setting = Setting(
        env,
        n_envs,
        n_steps,
        time_limit,
        normalize_obs=obs,
        normalize_reward=reward,
        normalize_batch=batch and n_envs * n_steps > 1,
        shared=shared,
        squash=squash and "Continuous" in env,
        n_threads=n_threads,
        seed=seed,
        batch_size=min(2, n_envs * n_steps),
    )
    check(setting, 2)


def test_large_rollouts_keep_numpys_order_of_sums() -> None:
    """Beyond the size of numpy's buffers (8192 numbers)."""
    check(Setting("MountainCarContinuous-v0", 300, 64, normalize_reward=True, n_threads=2), 2)


# -- errors ----------------------------------------------------------------------------------------


def failure(engine: Engine) -> tuple[Any, ...]:
    call = kernel("iterate", [Pointer, Pointer], ctypes.c_int64)
    before = engine.weights.parameters.copy()
    assert call(ctypes.byref(engine.it), pointer(engine.memory)) == -1
    np.testing.assert_array_equal(engine.weights.parameters, before)
    it = engine.it
    return (
        structs.ITERATION_ERRORS[it.error],
        it.error_env,
        it.error_step,
        it.error_column,
        it.error_value,
    )


@pytest.mark.parametrize("n_threads", [1, 2])
def test_observations_that_are_not_finite(n_threads: int) -> None:
    """A NaN in the weights makes the torque NaN, hence all of the first successors."""
    engine = Engine(Setting("Pendulum-v1", n_envs=40, n_threads=n_threads))
    engine.weights.parameters[:] = np.nan
    error, env, step, column, value = failure(engine)
    assert (error, env, step, column) == ("observation", 0, 0, 0)
    assert np.isnan(value)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_first_error_is_the_one_told(n_threads: int) -> None:
    """By step, then by environment, whichever thread found it."""
    engine = Engine(Setting("Pendulum-v1", n_envs=40, n_threads=n_threads))
    engine.state["current_obs"][33, 2] = np.inf
    engine.state["current_obs"][39, 1] = np.nan
    assert failure(engine) == ("observation", 33, 0, 2, np.inf)


def test_an_action_beyond_the_environments_indices() -> None:
    setting = Setting("CartPole-v1", n_envs=9)
    setting.categories = np.array([6], np.int32)  # of which CartPole knows two
    error, env, step, _, value = failure(Engine(setting))
    assert error == "action" and 0 <= env < 9 and 0 <= step < setting.n_steps
    assert value in range(2, 6)


def test_nonsense_has_no_size() -> None:
    size = kernel("iterate_bytes", [Pointer], ctypes.c_int64)
    for change in (
        {"n_envs": 0},
        {"n_steps": -1},
        {"n_envs": 2**20, "n_steps": 2**20},
    ):
        it = Engine(Setting()).it
        for name, value in change.items():
            setattr(it, name, value)
        assert size(ctypes.byref(it)) == -1, change
    it = Engine(Setting()).it
    it.shape.obs_size = 3  # CartPole has four numbers
    assert size(ctypes.byref(it)) == -1
    it = Engine(Setting("Pendulum-v1")).it
    it.shape.n_choices, it.shape.continuous = 1, 0
    it.shape.categories = pointer(np.array([2], np.int32))
    assert size(ctypes.byref(it)) == -1
