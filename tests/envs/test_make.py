from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from env_zoo import Walk

from dressage.envs.make import env_spec_info, make_env, time_limit
from dressage.envs.wrappers import WRAPPERS, layers
from dressage.errors import EnvError


def test_ids_objects_and_callables() -> None:
    for env in ("CartPole-v1", "env_zoo:Walk", "env_zoo:make_walk", Walk):
        made = make_env(env)
        assert isinstance(made, gym.Env)
        assert not any("Checker" in type(layer).__name__ for layer in layers(made))
    assert make_env("env_zoo:make_walk", env_kwargs={"noise": "global"}).noise == "global"
    limited = make_env(Walk, max_episode_steps=7)
    assert env_spec_info(limited)["time_limit"] == 7
    assert env_spec_info(make_env("CartPole-v1", max_episode_steps=9))["time_limit"] == 9


def test_a_module_is_found_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_own_env.py").write_text("from gymnasium.envs.classic_control import *\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    assert make_env("my_own_env:PendulumEnv").observation_space.shape == (3,)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPoel-v1", "Did you mean 'CartPole-v1'"),
        ("CartPole-v99", "no environment"),
        ("env_zoo:Wlak", "Did you mean 'Walk'"),
        ("env_zzz:Walk", "module 'env_zzz'"),
        ("env_zoo:not_an_env", "is a int"),
        ("env_zoo:make_vector", "missing 1 required"),
        (lambda: 3, "made a int"),
        ("NoSuch/Thing-v0", "no environment"),
    ],
)
def test_what_cannot_be_made_is_told(env: Any, message: str) -> None:
    with pytest.raises(EnvError, match=message):
        make_env(env)


def test_nothing_is_imported_without_trust() -> None:
    with pytest.raises(EnvError, match="--trust"):
        make_env("never_imported:Env", trust=False)
    with pytest.raises(EnvError, match="--trust"):
        make_env("CartPole-v1", wrappers=["never_imported:Wrap"], trust=False)
    assert "never_imported" not in sys.modules
    assert make_env("CartPole-v1", trust=False) is not None


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(EnvError, match=r"dressage\[atari\]"):
        make_env("ALE/Pong-v5")
    monkeypatch.setitem(sys.modules, "Box2D", None)
    for name in [m for m in sys.modules if m.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(EnvError, match=r"dressage\[box2d\]"):
        make_env("LunarLander-v3")


def test_spec_info_is_json() -> None:
    info = env_spec_info(make_env("CartPole-v1", wrappers=["time_feature"]))
    assert json.loads(json.dumps(info, allow_nan=False)) is not None
    assert info["id"] == "CartPole-v1"
    assert info["reward_threshold"] == 475.0
    assert info["wrappers"][0] == "TimeAwareObservation"
    assert env_spec_info(make_env("env_zoo:Walk"))["id"] == "env_zoo:Walk"


def test_wrappers_by_name() -> None:
    def space(*wrappers: Any, env: str = "CartPole-v1") -> Any:
        made = make_env(env, wrappers=wrappers)
        obs, _ = made.reset(seed=0)
        assert made.observation_space.contains(obs)
        return made.observation_space

    assert space("frame_stack:3").shape == (3, 4)
    assert space({"name": "frame_stack", "n": 2}, "flatten").shape == (8,)
    assert space("time_feature").shape == (5,)
    assert space("time_limit:5", "time_feature").shape == (5,)
    assert space("gymnasium.wrappers:FlattenObservation").shape == (4,)
    env = make_env("CartPole-v1", wrappers=["mask_velocity"])
    obs, _ = env.reset(seed=0)
    assert obs[1] == obs[3] == 0
    assert obs[0] != 0
    assert obs.tolist() == make_env("CartPoleNoVel-v1").reset(seed=0)[0].tolist()
    assert make_env("Pendulum-v1", wrappers=["rescale_action"]).action_space.high == 1
    assert "mission" not in space("drop:mission", env="MiniGrid-Empty-5x5-v0").spaces


def test_reward_wrappers_keep_the_raw_reward() -> None:
    env = make_env("Pendulum-v1", wrappers=["scale_reward:0.5", "clip_reward:0.1"])
    env.reset(seed=3)
    plain = make_env("Pendulum-v1")
    plain.reset(seed=3)
    action = np.zeros(1, np.float32)
    raw = plain.step(action)[1]
    _, reward, _, _, info = env.step(action)
    assert info["raw_reward"] == raw
    assert reward == max(-0.1, raw * 0.5)


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        ("frame_stak:4", "Did you mean 'frame_stack'"),
        ("time_limit", r"usage: time_limit:200"),
        ("atari", "needs an ALE"),
        ("frame_stack:4,oops=1", "usage"),
        ({"n": 3}, "has no name"),
        (lambda env: 3, "expected a gymnasium.Env"),
    ],
)
def test_wrong_wrappers_are_told(wrapper: Any, message: str) -> None:
    with pytest.raises(EnvError, match=message):
        make_env("CartPole-v1", wrappers=[wrapper])


def test_every_wrapper_has_a_description() -> None:
    for name, entry in WRAPPERS.items():
        assert entry.usage.startswith(name)
        assert len(entry.meaning) > 10


def test_episodic_life_continues_the_game() -> None:
    env = make_env("ALE/Breakout-v5", wrappers=["atari"])
    obs, info = env.reset(seed=0)
    assert obs.shape == (4, 84, 84)
    assert not info["continued"]
    lives = []
    for _ in range(2000):
        _, reward, terminated, _, info = env.step(env.action_space.n - 1)
        assert reward in (-1.0, 0.0, 1.0)
        if terminated:
            lives.append(env.unwrapped.ale.lives())
            over = info["game_over"]
            _, info = env.reset(seed=1)
            assert info["continued"] == (not over)
            if over:
                break
    assert lives == [4, 3, 2, 1, 0]


def test_making_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for env in ("HalfCheetah-v5", "ALE/Pong-v5", "CartPole-v0"):
        make_env(env).reset(seed=0)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
    assert not list(tmp_path.iterdir())


def test_a_time_limit_may_be_given_as_to_gymnasium() -> None:
    env = make_env("CartPole-v1", env_kwargs={"max_episode_steps": 7})
    assert time_limit(env) == 7
    assert time_limit(make_env("CartPole-v1", max_episode_steps=9)) == 9
