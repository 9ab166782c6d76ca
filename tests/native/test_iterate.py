"""One call of `iterate` is collecting, preparing, shuffling and updating one after the other."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from dressage.native import structs
from dressage.native.face import Int64, Pointer

from .iterating import Engine, Reference, Setting, compare, kernel, pointer, same


def iterate(engine: Engine) -> int:
    call = kernel("iterate", [Pointer, Pointer], Int64)
    return int(call(ctypes.byref(engine.it), pointer(engine.memory)))


def check(setting: Setting, iterations: int = 3) -> tuple[Engine, Reference]:
    engine, reference = Engine(setting), Reference(setting)
    for _ in range(iterations):
        steps, metrics = reference.collect()
        done = reference.update(steps)
        assert iterate(engine) == done > 0
        compare(engine, reference, steps, metrics)
        for ours, theirs in zip(engine.weights.arrays(), reference.weights.arrays(), strict=True):
            same(ours, theirs, "weights")
        assert engine.it.learner.steps == reference.weights.state.steps
        assert engine.it.epochs == reference.memory.epochs
        for name, kind in structs.UpdateMetrics._fields_:
            ours, theirs = (getattr(x.updated, name) for x in (engine.it, reference))
            if kind is not ctypes.c_double:
                ours, theirs = list(ours), list(theirs)
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert all(seconds > 0 for seconds in engine.it.seconds)
        engine.it.seconds[:] = [0.0] * len(structs.PHASES)
    return engine, reference


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_ppo(env: str, normalize: bool, n_threads: int) -> None:
    setting = Setting(
        env,
        n_envs=8,
        n_steps=16,
        batch_size=32,
        n_epochs=3,
        normalize_obs=normalize,
        normalize_reward=normalize,
        normalize_batch=normalize,
        n_threads=n_threads,
    )
    check(setting)


def test_a2c() -> None:
    setting = Setting(family="a2c", n_envs=16, n_steps=5, n_epochs=1, shuffle=False)
    engine, _ = check(setting, 4)
    assert engine.it.epochs == 0


def test_epochs_begun_count_when_the_divergence_ends_an_update() -> None:
    setting = Setting(
        n_envs=8, n_steps=16, batch_size=32, n_epochs=6, target_kl=1e-4, normalize_batch=True
    )
    engine, _ = check(setting, 5)
    assert 5 <= engine.it.epochs < 5 * 6


def test_rows_beyond_whole_minibatches_are_left_out() -> None:
    check(Setting(n_envs=7, n_steps=9, batch_size=25))


def test_no_result_depends_on_threads() -> None:
    found = []
    for n_threads in (1, 2, 5):
        engine = Engine(
            Setting(n_envs=96, n_steps=16, batch_size=512, normalize_obs=True, n_threads=n_threads)
        )
        for _ in range(3):
            assert iterate(engine) == 6
        found.append([x.tobytes() for x in (*engine.weights.arrays(), engine.rollout["obs"])])
    assert found[0] == found[1] == found[2]
