"""Roulette: what a bet is worth, and that leaving ends the episode."""

from __future__ import annotations

import numpy as np

from dressage.envs.toys import Roulette


def test_a_bet_loses_a_nineteenth_of_its_stake() -> None:
    env = Roulette(scale=1.0)
    env.reset(seed=0)
    won = np.array([env.step(7)[1] for _ in range(50_000)])
    assert set(won) == {-1.0, 35.0}
    error = won.std() / np.sqrt(len(won))
    assert abs(won.mean() + 1 / 19) < 4 * error


def test_leaving_ends_the_episode_and_time_cuts_it() -> None:
    env = Roulette(limit=3)
    env.reset(seed=0)
    assert env.step(38)[1:4] == (0.0, True, False)
    env.reset()
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
