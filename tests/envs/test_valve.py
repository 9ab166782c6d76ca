"""Valve: one opening held finds the band, noise of single steps is smoothed away."""

from __future__ import annotations

import numpy as np

from dressage.envs.toys import Valve


def earned(openings: np.ndarray) -> float:
    env = Valve()
    env.reset(seed=0)
    total = 0.0
    for t, opening in enumerate(openings):
        _, reward, terminated, truncated, _ = env.step(opening)
        total += reward
        assert not terminated and truncated == (t == Valve.LIMIT - 1)
    return total


def test_one_opening_finds_the_band():
    assert earned(np.full((150, 1), 0.5)) == 71.0
    assert earned(np.full((150, 1), 0.3)) == 0.0
    assert earned(np.full((150, 1), 1.0)) < 25.0  # it is passed on the way to the bound


def test_noise_of_single_steps_does_not():
    noise = np.random.default_rng(0).normal(0.0, 0.5, (50, 150, 1))
    assert all(earned(openings) == 0.0 for openings in noise)
