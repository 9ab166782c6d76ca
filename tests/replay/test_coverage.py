"""How much of a replay memory differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dressage.core.replay.coverage import SAMPLE, SIGNS, cells, coverage
from dressage.core.replay.ring import Ring
from dressage.core.rng import Rng

RANDOM = np.random.default_rng(0)
SPREAD = RANDOM.normal(size=(1500, 2, 6)).astype(np.float32)


def ring(capacity: int = 1500, **obs: Any) -> Ring:
    """Filled with `[T, N, …]` observations; `whole` is the one without parts."""
    made = Ring(capacity)
    columns = {"obs" if name == "whole" else f"obs/{name}": x for name, x in obs.items()}
    following = {f"next_{name}": x for name, x in columns.items()}
    reward = np.zeros(next(iter(obs.values())).shape[:2], np.float32)
    made.add({"reward": reward, **columns, **following})
    return made


def test_against_a_loop() -> None:
    made, rng = ring(whole=SPREAD), Rng(0)
    projection = rng.normal("coverage/projection", (6, SIGNS)).astype(float) / np.sqrt(6)
    offset = rng.normal("coverage/offset", SIGNS)
    flat = SPREAD.reshape(-1, 6).astype(float)
    chosen = flat[[int(i * (len(flat) - 1) / (SAMPLE - 1)) for i in range(SAMPLE)]]
    found = set()
    for x in (chosen - chosen.mean(0)) / chosen.std(0):
        dots = [sum(x * projection[:, k]) + offset[k] for k in range(SIGNS)]
        found.add(tuple(dot > 0 for dot in dots))
    assert coverage(made) == len(found) / SAMPLE
    assert 0.5 < len(found) / SAMPLE < 1.0, "a case in which something is counted"


def test_states_that_come_again_count_once() -> None:
    few = SPREAD[:20][RANDOM.integers(0, 20, 1500)]  # 40 with two environments
    assert coverage(ring(whole=few)) == pytest.approx(40 / SAMPLE, abs=3 / SAMPLE)
    assert coverage(ring(whole=np.full_like(SPREAD, 0.1))) == 1 / SAMPLE


def test_rest_with_noise_on_the_sensors_is_one_state() -> None:
    resting = 1e-4 * RANDOM.normal(size=SPREAD.shape).astype(np.float32)
    resting[::20] = SPREAD[::20]
    assert coverage(ring(whole=resting)) < 0.07
    assert coverage(ring(whole=SPREAD)) > 0.7  # type: ignore[operator]


def test_units_do_not_matter() -> None:
    units = np.array([1e-3, 1.0, 7.0, 1e6, 1.0, 30.0])
    np.testing.assert_array_equal(cells(SPREAD[:, 0]), cells(SPREAD[:, 0] * units + 100 * units))


def test_of_what_is_held_alone() -> None:
    """Rows that were overwritten do not count; nor does room that is not filled yet."""
    made = ring(whole=SPREAD)
    made.add({n: np.zeros_like(c) for n, c in made.columns.items()})
    assert coverage(made) == 1 / SAMPLE
    few = ring(whole=SPREAD[:50])
    assert coverage(few) == np.unique(cells(SPREAD[:50].reshape(100, 6))).size / 100
    assert coverage(Ring(8)) is None


def test_images_are_left_out() -> None:
    images = RANDOM.integers(0, 256, (30, 2, 3, 5, 4), np.uint8)
    assert coverage(ring(30, whole=images)) is None
    assert coverage(ring(30, whole=images.astype(np.float32))) is None
    both = {"camera": images, "arm": SPREAD[:30, :, :2], "goal": SPREAD[:30, :, 2:]}
    assert coverage(ring(30, **both)) == coverage(ring(30, whole=SPREAD[:30]))
