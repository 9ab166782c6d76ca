"""The fault benchmark's own tasks: whoever knows the rules earns what is documented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.faults.tasks_test import Lane, Tanks
from benchmarks.faults.training_tasks import Aim, Balance, Catch, Furnace, Guess, Sorting, Swing
from gymnasium.utils.env_checker import check_env


def played(env: Any, act: Callable[[Any], Any], episodes: int = 20) -> tuple[float, set[str]]:
    """Mean return, and the ways in which episodes ended."""
    total, ends = 0.0, set()
    for seed in range(episodes):
        obs, _ = env.reset(seed=seed)
        over = False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(act(obs))
            total += reward
            over = terminated or truncated
        ends.add("terminated" if terminated else "truncated")
    return total / episodes, ends


def upright(obs: Any) -> Any:
    return np.clip(-6.0 * obs[:1] - 2.0 * obs[1:2], -1.0, 1.0)


def pumped(obs: Any) -> int:
    return 2 if obs[2] >= 0 else 0


def under_the_ball(obs: Any) -> int:
    ball, row, drift, paddle = obs
    wall, left = 4.0, round((1.0 - row) * 5.0)
    place, way = round((ball + 1.0) * wall), int(drift)
    for _ in range(left):
        way = way if 0 <= place + way <= 8 else -way
        place += way
    return int(np.sign(place - round((paddle + 1.0) * wall))) + 1


def held(obs: Any) -> Any:
    return np.clip(-2.0 * obs[:1] - 1.5 * obs[1:], -1.0, 1.0)


def filled(obs: Any) -> Any:
    """The pump that holds the mark in the end, and more of it for what is missing."""
    upper, lower, mark, _ = (float(x) for x in obs)
    wanted = 0.64 * mark  # of the first tank: what it lets through is what the second loses
    flow = 0.8 * mark**0.5 + 1.5 * (wanted - upper) + 2.0 * (mark - lower)
    return np.array([np.clip(flow - 1.0, -1.0, 1.0)], np.float32)


def steered(obs: Any) -> Any:
    offset, heading, _, bend, _ = (float(x) for x in obs)
    steer = 0.5 * bend - 2.0 * offset - 2.0 * heading
    return np.array([np.clip(steer, -1.0, 1.0)], np.float32)


@pytest.mark.parametrize(
    "env",
    [
        Balance(), Balance("discrete"), Catch(), Swing(), Guess(), Guess("box"),
        Sorting(), Aim(), Aim("discrete"), Furnace(), Furnace("discrete"),
        Tanks(), Tanks("discrete"), Lane(), Lane("discrete"),
    ],
)  # fmt: skip
def test_a_task_keeps_to_the_interface(env: Any) -> None:
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize(
    ("env", "act", "best", "end"),
    [
        (Balance(), upright, 150.0, "truncated"),
        (Tanks(), filled, 44.0, "truncated"),
        (
            Tanks("discrete"),
            lambda obs: round(1.5 * float(filled(obs)[0]) + 1.5),
            42.0,
            "truncated",
        ),
        (Lane(), steered, 29.0, "truncated"),
        (Lane("discrete"), lambda obs: round(2.0 * float(steered(obs)[0])) + 2, 28.0, "truncated"),
        (Balance("discrete"), lambda obs: int(np.sign(upright(obs)[0])) + 1, 150.0, "truncated"),
        (Catch(), under_the_ball, 1.0, "terminated"),
        (Swing(), pumped, -25.0, "terminated"),
        (Guess(), lambda obs: int(obs.argmax()), 50.0, "truncated"),
        (Guess("box"), lambda obs: obs.mean(keepdims=True), 25.0, "truncated"),
        (Sorting(), lambda mark: 3 * mark % 4, 16.0, "terminated"),
        (Aim(), lambda obs: 0.6 * obs[:1] + 0.3 * obs[1:], 0.0, "terminated"),
        (Furnace(), held, 38.0, "terminated"),
    ],
)
def test_who_knows_the_task_earns_the_best_return(
    env: Any, act: Callable[[Any], Any], best: float, end: str
) -> None:
    earned, ends = played(env, act)
    assert earned == pytest.approx(best, rel=0.15, abs=1e-6) and ends == {end}


@pytest.mark.parametrize(
    ("env", "act", "most"),
    [
        (Balance(), lambda obs: np.zeros(1), 60.0),
        (Tanks(), lambda obs: np.zeros(1), 25.0),
        (Lane(), lambda obs: np.zeros(1), 10.0),
        (Catch(), lambda obs: 1, -0.5),
        (Swing(), lambda obs: 1, -120.0),
        (Guess(), lambda obs: 0, 20.0),
        (Sorting(), lambda mark: 0, 8.0),
        (Aim(), lambda obs: np.zeros(1), -1.0),
        (Furnace(), lambda obs: np.zeros(1), 20.0),
    ],
)
def test_who_does_nothing_does_not(env: Any, act: Callable[[Any], Any], most: float) -> None:
    assert played(env, act)[0] <= most
