"""Hindsight: which goals steps get, what follows from them, and that it resumes exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import dressage
from dressage import conformance
from dressage.core.replay import Replay, ReplaySettings
from dressage.core.replay.relabel import OPEN, Episodes
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.envs.backends import open_batch
from dressage.envs.goals import BitFlip, Reach
from dressage.errors import ConfigError, DressageError

N, GAMMA, RNG = 2, 0.9, Rng(3)


class Line(gym.Env):  # type: ignore[misc]
    """As much of an environment as hindsight asks: goals are numbers, reached when equal."""

    observation_space = spaces.Dict(
        {
            "observation": spaces.Box(-np.inf, np.inf, (1,), np.float32),
            "achieved_goal": spaces.Box(-np.inf, np.inf, (1,), np.float32),
            "desired_goal": spaces.Box(-np.inf, np.inf, (1,), np.float32),
        }
    )
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return dict.fromkeys(self.observation_space, np.zeros(1, np.float32)), {}

    def step(self, action: Any) -> Any:
        return self.reset()[0], 0.0, False, False, {}

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        return np.where((achieved_goal == desired_goal).all(-1), 10.0, -1.0)

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        return (achieved_goal == desired_goal).all(-1)


class Collector:
    """As much of a collector as a memory looks at."""

    n_envs, obs_normalizer, reward_normalizer = N, None, None

    def __init__(self, env: Any = Line) -> None:
        self.batch = open_batch(env, N)

    def keep_raw(self) -> None: ...


# which column of the vector is what: Gymnasium sorts the keys of a Dict
ACHIEVED, DESIRED, PLACE = 0, 1, 2


def steps(begin: int, length: int) -> Steps:
    """Rows whose achieved goal is the row (+ 1000 an environment); episodes end by the clock, with
    lengths of 5 and 7."""
    rows = np.arange(begin, begin + length)[:, None] + np.zeros(N, int)
    envs = np.arange(N)[None] + np.zeros((length, 1), int)
    sizes = np.array([5, 7])[envs]
    number = (rows + 1000 * envs).astype(np.float32)
    obs = np.stack((number, np.full_like(number, -5.0), number), axis=-1)
    after = obs + np.array([1.0, 0.0, 1.0], np.float32)
    ends = rows % sizes == sizes - 1
    extras = {"first": rows % sizes == 0}
    never = np.zeros_like(ends)
    return Steps(obs, number[..., None], -np.ones_like(number), never, ends, after, extras)


def memory(folder: Path, way: str, rows: int = 40, **given: Any) -> Replay:
    cfg = ReplaySettings(buffer_size=rows * N, batch_size=4000, her=way, **given)
    made = Replay(cfg)
    made.attach(Collector(), folder)  # type: ignore[arg-type]
    return made


def bounds(row: int, env: int, low: int, high: int) -> tuple[int, int | None]:
    """First and last stored row of a row's episode; None while it goes on."""
    size = (5, 7)[env]
    first = row // size * size
    last = first + size - 1
    return max(first, low), last if last < high else None


@pytest.mark.parametrize("chunk", [1, 3, 16])
def test_episodes_are_found_however_rows_come(tmp_path: Path, chunk: int) -> None:
    made = memory(tmp_path, "future", rows=30)
    for begin in range(0, 48, chunk):
        made.add(steps(begin, chunk))
    ring = made.ring
    assert ring.low == 18
    assert made.hindsight is not None and made.hindsight.episodes is not None
    for episodes in (made.hindsight.episodes, Episodes(ring)):  # as it grew, and made anew
        for row in range(ring.low, ring.high):
            for env in range(N):
                first, last = episodes.of(np.array([row]), np.array([env]))
                expected = bounds(row, env, ring.low, ring.high)
                found = int(first[0]), None if last[0] == OPEN else int(last[0])
                assert found == expected, (row, env)


@pytest.mark.parametrize("way", ["future", "final", "episode"])
def test_goals_are_those_the_way_says(tmp_path: Path, way: str) -> None:
    made = memory(tmp_path, way, her_k=3.0)
    made.add(steps(0, 48))
    (batch,) = made.batches(RNG, 1, ReplaySettings(gamma=GAMMA))
    ring, seen = made.ring, set()
    relabelled = batch.obs[:, DESIRED] != -5.0
    assert np.array_equal(batch.obs[:, DESIRED], batch.next_obs[:, DESIRED])
    assert 0.65 < relabelled.mean() < 0.8  # 3 of 4, less those that `final` leaves
    for i in range(4000):
        env, row = divmod(int(batch.obs[i, PLACE]), 1000)
        first, last = bounds(row, env, ring.low, ring.high)
        reached = batch.obs[i, DESIRED] == batch.next_obs[i, ACHIEVED]
        if not relabelled[i]:
            assert batch.reward[i] == -1.0 and not batch.terminated[i]
            continue
        source = int(batch.obs[i, DESIRED]) - 1000 * env - 1  # the row whose successor it was
        end = ring.high - 1 if last is None else last
        lowest = {"future": row, "final": end, "episode": first}[way]
        assert lowest <= source <= end
        assert way != "final" or last is not None
        seen.add((row - source, row))
        # all of the step follows from the new goal
        assert batch.reward[i] == (10.0 if reached else -1.0)
        assert batch.terminated[i] == reached
        assert batch.extras["discount"][i] == (0.0 if reached else np.float32(GAMMA))
        assert not (batch.terminated[i] and batch.truncated[i])
    if way == "future":  # every later row comes up
        assert {(k, 20) for k in (0, -1, -2, -3, -4)} <= seen


def test_what_is_stored_stays_as_it_was(tmp_path: Path) -> None:
    made = memory(tmp_path, "future")
    made.add(steps(0, 30))
    before = {name: column.copy() for name, column in made.ring.columns.items()}
    list(made.batches(RNG, 3, ReplaySettings()))
    for name, column in made.ring.columns.items():
        assert np.array_equal(column[:30], before[name][:30])


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("env", [BitFlip, Reach])
def test_relabelled_rewards_are_those_of_the_environment(
    env: Any, backend: str, tmp_path: Path
) -> None:
    """Steps of real episodes: with the goal as it was, the environment's answers are the stored."""
    name = f"dressage.envs.goals:{env.__name__}"
    with open_batch(name, N, backend) as batch:
        collector: Any = Collector()
        collector.batch = batch
        made = Replay(ReplaySettings(her="future"))
        made.attach(collector, tmp_path)
        hindsight = made.hindsight
        assert hindsight is not None
        batch.reset_many(range(N), range(N))
        draw = np.random.default_rng(0)
        for _ in range(30):
            low = 0 if batch.action_codec.categories else -1
            batch.step(draw.integers(low, 2, (N, batch.action_codec.size)).astype(np.float32))
            after = batch.next_obs
            assert isinstance(after, np.ndarray)
            asked = after[:, hindsight.columns], after[:, hindsight.wanted]
            assert np.array_equal(hindsight._ask("compute_reward", *asked), batch.reward)
            assert np.array_equal(hindsight._ask("compute_terminated", *asked), batch.terminated)
            ended = np.flatnonzero(batch.terminated | batch.truncated).tolist()
            batch.reset_many(ended, [e + 100 for e in ended])


class OneByOne(Line):
    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        return float(np.array_equal(achieved_goal, desired_goal))


class Numbered(Line):
    observation_space = spaces.Dict(
        {name: spaces.Discrete(3) for name in ("observation", "achieved_goal", "desired_goal")}
    )


class WithoutRewards(gym.Env):
    observation_space, action_space = Line.observation_space, Line.action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, False, False, {}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (OneByOne, r"compute_reward gave shape \(\) for 2 goals .* make it work on arrays"),
        (Numbered, "'achieved_goal' is of kind discrete: make it a Box"),
        (WithoutRewards, "has no compute_reward"),
        ("CartPole-v1", "her needs 'achieved_goal' in the observation"),
    ],
)
def test_what_has_no_goals_is_refused(env: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        Replay(ReplaySettings(her="future")).attach(Collector(env), tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algo": "dqn", "n_step": 3}, "n_step=3 do not go together"),
        ({"algo": "drqn"}, "does not go with sequences"),
        ({"algo": "dqn", "engine": "native"}, "her=future"),
    ],
)
def test_what_does_not_go_with_hindsight_is_refused(
    settings: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DressageError, match=words):
        dressage.train("dressage.envs.goals:BitFlip", runs=tmp_path, her="future", **settings)


@pytest.mark.parametrize(
    ("env", "algo", "way"), [("BitFlip", "dqn", "future"), ("Reach", "sac", "episode")]
)
def test_it_resumes_exactly(env: str, algo: str, way: str, tmp_path: Path) -> None:
    asked: Any = {
        "algo": algo,
        "her": way,
        "env_steps": 600,
        "n_envs": 2,
        "buffer_size": 200,
        "batch_size": 16,
        "train_freq": 4,
        "learning_starts": 60,
        "net_arch": [8],
        "normalize_obs": True,
        "normalize_reward": True,
        "prioritized": algo == "dqn",
        "log_every": 100,
        "eval_every": 300,
        "eval_episodes": 2,
        "final_eval_episodes": 2,
        "checkpoint_every": 100,
        "keep_checkpoints": 9,
        "backend": "inline",
    }
    name = f"dressage.envs.goals:{env}"
    whole = dressage.train(name, runs=tmp_path, **asked)
    hooks = [conformance.StopAfter(50 if algo == "dqn" else 45)]
    stopped = dressage.train(name, runs=tmp_path, hooks=hooks, **asked)
    assert stopped.status == "stopped"
    dressage.train(resume=stopped, trust=True)
    assert not conformance.differences(whole.path, stopped.path)
