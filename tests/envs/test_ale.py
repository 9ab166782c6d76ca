"""Our Atari layers give what Gymnasium's give: same seeds, same actions, same bytes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers as gymw

from dressage.envs.ale import Frames, GameLoader, Stack, asks_directly
from dressage.envs.make import make_env

ale_py = pytest.importorskip("ale_py")


def plain(game: str, **settings: Any) -> Any:
    return gym.make(f"ALE/{game}-v5", frameskip=1, disable_env_checker=True, **settings)


def played(env: Any, seeds: range, env_steps: int, rng: np.random.Generator) -> list[Any]:
    """Everything that an environment says about some games, cut after a number of steps."""
    told: list[Any] = []
    for seed in seeds:
        told.append(env.reset(seed=seed))
        for _ in range(env_steps):
            told.append(env.step(int(rng.integers(env.action_space.n))))
            if told[-1][2] or told[-1][3]:
                break
    return told


def same(a: list[Any], b: list[Any]) -> None:
    assert len(a) == len(b)
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        assert x[0].dtype == y[0].dtype
        np.testing.assert_array_equal(x[0], y[0], err_msg=f"observation {i}")
        assert repr(x[1:]) == repr(y[1:])


# Pong waits for nobody, Breakout has lives, Seaquest and Pitfall draw their screens otherwise
@pytest.mark.parametrize("game", ["Breakout", "Pong", "Seaquest", "Pitfall"])
def test_frames_and_stack_are_gymnasiums(game: str) -> None:
    ours = Stack(Frames(plain(game), 30, 4, 84), 4)
    theirs = gymw.FrameStackObservation(gymw.AtariPreprocessing(plain(game), 30, 4, 84), 4)
    assert ours.observation_space == theirs.observation_space
    told = [played(env, range(6), 60, np.random.default_rng(0)) for env in (ours, theirs)]
    same(*told)
    loader = ours.unwrapped.load_game
    assert loader.verified[loader._game] is True  # so later games came from saved states


def test_frames_without_skipping_and_noops_and_to_the_end_of_a_game() -> None:
    ours = Frames(plain("Breakout", max_num_frames_per_episode=300), 0, 1, 40)
    theirs = gymw.AtariPreprocessing(plain("Breakout", max_num_frames_per_episode=300), 0, 1, 40)
    told = [played(env, range(4), 400, np.random.default_rng(1)) for env in (ours, theirs)]
    same(*told)
    assert told[0][-1][3]  # truncated by ALE's own limit


def test_another_mode_and_difficulty_stay_those_asked_for() -> None:
    settings = {"mode": 4, "difficulty": 1}
    ours = Frames(plain("Breakout", **settings), 30, 4, 84)
    theirs = gymw.AtariPreprocessing(plain("Breakout", **settings), 30, 4, 84)
    told = [played(env, range(5), 40, np.random.default_rng(2)) for env in (ours, theirs)]
    same(*told)


def test_a_game_is_loaded_every_time_where_writing_the_generator_is_not_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GameLoader, "first_states", {})
    monkeypatch.setattr(GameLoader, "verified", {})
    game = plain("Pong").unwrapped
    loads: list[int] = []
    really = game.load_game

    def load() -> None:
        loads.append(game.ale.getInt("random_seed"))
        really()
        game.ale.act(0, 1.0)  # a state that depends on more than the seed
        for _ in range(len(loads)):
            game.ale.act(3, 1.0)

    game.load_game = load
    game.load_game = GameLoader(game)
    for seed in range(5):
        game.reset(seed=seed)
    assert len(loads) == 5


def test_environments_of_a_process_learn_from_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GameLoader, "first_states", {})
    monkeypatch.setattr(GameLoader, "verified", {})
    loads: list[int] = []
    games = [plain("Pong").unwrapped for _ in range(3)]
    for i, game in enumerate(games):
        really = game.load_game
        game.load_game = lambda i=i, really=really: (loads.append(i), really())
        game.load_game = GameLoader(game)
    for seed in range(3):
        for i, game in enumerate(games):
            game.reset(seed=10 * seed + i)
    assert loads == [0, 1, 2]  # each its first


def test_layers_below_are_not_passed_by() -> None:
    assert asks_directly(plain("Pong"))
    assert not asks_directly(gymw.TimeLimit(plain("Pong"), 10))
    assert not asks_directly(gym.make("CartPole-v1"))
    limited = make_env("ALE/Pong-v5", wrappers=["time_limit:10", "atari"])
    limited.reset(seed=0)
    assert not isinstance(limited.env, Frames)
