"""Lake: noise that is drawn anew each step stays in the middle, one direction lands."""

from __future__ import annotations

import numpy as np

from dressage.envs.toys import Lake


def sailed(actions: np.ndarray) -> tuple[float, int]:
    """The return of an episode, and how many steps it had."""
    env = Lake()
    env.reset(seed=0)
    total = 0.0
    for t, action in enumerate(actions):
        _, reward, terminated, truncated, _ = env.step(action)
        total += reward
        if terminated or truncated:
            assert terminated == (reward == 1.0)
            return total, t + 1
    raise AssertionError("the clock ends an episode")


def test_one_direction_lands():
    assert sailed(np.full((200, 1), 0.5)) == (1.0, 100)
    assert sailed(np.full((200, 1), -2.0)) == (1.0, 50)  # speed has a bound


def test_noise_of_single_steps_does_not():
    noise = np.random.default_rng(0).normal(0.0, 0.5, (50, 200, 1))
    assert all(sailed(actions) == (0.0, 200) for actions in noise)
