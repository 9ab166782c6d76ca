"""Batches that C gathers against those of core/replay."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .kernels import kernel
from .off_kernels import OffCase

DRAWN = np.dtype(
    [
        *((name, "i8") for name in ("row", "env", "last")),
        *((name, "f4") for name in ("reward", "discount", "weight", "td_error", "error")),
    ],
    align=True,
)


@pytest.mark.parametrize("n_step", [1, 2, 5])
@pytest.mark.parametrize("rows", [7, 40, 95])  # less than the ring's 30 rows, and wrapped
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("prioritized", [False, True])
def test_batches_are_the_memorys(
    n_step: int, rows: int, normalize: bool, prioritized: bool
) -> None:
    case = OffCase(
        "sac",
        continuous=2,
        n_envs=2,
        rows=rows,
        normalize=normalize,
        n_step=n_step,
        prioritized=prioritized,
        priority_beta=0.7,
        batch_size=64,
        dtype=np.float32,
    )
    memory, updates = case.memory, case.native.updates
    for draws in range(3):
        memory.draws = draws
        updates.fill(memory, case.rng, case.cfg)
        (theirs,) = memory.batches(case.rng, 1, case.cfg)
        obs, next_obs = np.empty((64, 5), np.float32), np.empty((64, 5), np.float32)
        action, batch = np.empty((64, 2), np.float32), np.empty(64, DRAWN)
        room = [np.empty(64, kind) for kind in (np.int64, np.float64, np.float32)]
        addresses = np.array([array.ctypes.data for array in room])  # `replay_room`
        where = (addresses, batch, obs, action, next_obs)
        kernel("replay_batch", np.float32)(
            ctypes.byref(updates.call.memory),
            ctypes.c_int64(64),
            *(ctypes.c_void_p(array.ctypes.data) for array in where),
        )
        np.testing.assert_array_equal(
            memory.ring.place(batch["row"], batch["env"]), theirs.extras["place"]
        )
        np.testing.assert_array_equal(obs, theirs.obs)
        np.testing.assert_array_equal(next_obs, theirs.next_obs)
        np.testing.assert_array_equal(action, theirs.action)
        np.testing.assert_allclose(batch["reward"], theirs.reward, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(batch["discount"], theirs.extras["discount"], rtol=1e-7)
        np.testing.assert_allclose(batch["weight"], theirs.extras["weight"], rtol=1e-7)
        assert (batch["weight"].min() < 1.0) == prioritized
