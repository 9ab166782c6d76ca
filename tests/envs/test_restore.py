from __future__ import annotations

import json
from typing import Any

import env_zoo
import numpy as np
import pytest

from dressage.envs.backends import masked_random_actions, open_batch
from dressage.envs.batch import EnvBatch, InlineBatch, obs_hashes
from dressage.envs.make import EnvRecipe
from dressage.envs.restore import (
    TraceRecorder,
    load_state,
    probe_determinism,
    restore,
    save_state,
    traces_from_arrays,
)
from dressage.envs.state import decode_state, encode_state
from dressage.errors import EnvError


class Player:
    """Plays like a Collector: a seed per episode, traces recorded."""

    def __init__(self, batch: EnvBatch) -> None:
        self.batch, self.rng = batch, np.random.default_rng(0)
        self.recorder = TraceRecorder(batch.n_envs, batch.action_codec.size)
        self.seed = 0

    def reset(self, rows: list[int]) -> None:
        seeds = list(range(self.seed, self.seed + len(rows)))
        self.seed += len(rows)
        self.batch.reset_many(rows, seeds)
        for i, seed in zip(rows, seeds, strict=True):
            self.recorder.reset(i, seed, bool(self.batch.continued[i]))

    def play(self, env_steps: int) -> list[Any]:
        log: list[Any] = []
        for _ in range(env_steps):
            actions = masked_random_actions(self.batch, self.rng)
            self.batch.step(actions)
            self.recorder.step(actions)
            log.append((obs_hashes(self.batch), self.batch.raw_reward.tolist()))
            ended = np.flatnonzero(self.batch.terminated | self.batch.truncated).tolist()
            if ended:
                self.reset(ended)
                log.append(obs_hashes(self.batch))
        return log


CASES: list[tuple[str, list[str], int]] = [  # vector steps before the stop
    ("CartPole-v1", [], 90),
    ("Acrobot-v1", ["sticky_action:0.5"], 700),
    ("LunarLander-v3", ["time_feature", "frame_stack:3"], 330),
    ("BipedalWalker-v3", [], 400),
    ("HalfCheetah-v5", ["time_limit:150"], 350),
    ("Ant-v5", ["time_limit:150"], 350),
    ("Humanoid-v5", [], 120),
    ("ALE/Pong-v5", ["time_limit:400", "atari"], 250),
    ("ALE/Breakout-v5", ["atari"], 250),
    ("MiniGrid-DoorKey-5x5-v0", ["drop:mission"], 600),
    ("env_zoo:Masked", [], 100),
    ("env_zoo:Remembering", [], 130),
]


def stop_and_go(
    recipe: EnvRecipe, before: int, backend: str, n_envs: int, after: int = 200
) -> None:
    with open_batch(recipe, n_envs, backend) as batch:
        player = Player(batch)
        player.reset(list(range(n_envs)))
        player.play(before)
        arrays = player.recorder.to_arrays()
        states = json.loads(json.dumps(save_state(batch)))
        expected = obs_hashes(batch)
        rng_state, seed = player.rng.bit_generator.state, player.seed
        assert player.seed > n_envs, "no episode ended: play longer before the stop"
        continuation = player.play(after)
    with open_batch(recipe, n_envs, backend) as batch:
        again = Player(batch)
        traces = traces_from_arrays(arrays, n_envs)
        load_state(batch, states)
        results = restore(batch, traces, expected)
        assert all(result.exact for result in results), results
        again.recorder = TraceRecorder.from_traces(traces, batch.action_codec.size)
        assert all(
            np.array_equal(value, arrays[name])
            for name, value in again.recorder.to_arrays().items()
        )
        again.rng.bit_generator.state = rng_state
        again.seed = seed
        assert again.play(after) == continuation
        first, second = player.recorder.to_arrays(), again.recorder.to_arrays()
        assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(("env", "wrappers", "before"), CASES, ids=lambda case: str(case))
def test_a_stopped_environment_goes_on_bit_for_bit(
    env: str, wrappers: list[str], before: int
) -> None:
    n_envs = 1 if env.startswith("ALE") else 2
    stop_and_go(EnvRecipe(env, {}, wrappers), before, "inline", n_envs)


@pytest.mark.parametrize("backend", ["process", "vector"])
def test_other_backends_restore_too(backend: str) -> None:
    name = "env_zoo:Remembering" if backend == "process" else "env_zoo:Walk"
    stop_and_go(EnvRecipe(name, vector=env_zoo.make_vector), 130, backend, 3, after=60)


def test_a_trace_in_mid_life_reaches_back_to_the_start_of_the_game() -> None:
    with open_batch(EnvRecipe("ALE/Breakout-v5", {}, ["atari"]), 1) as batch:
        player = Player(batch)
        player.reset([0])
        player.play(150)
        (trace,) = player.recorder.traces()
        assert len(trace.segments) > 1


def test_the_recorder_forgets_finished_episodes() -> None:
    recorder = TraceRecorder(2, 1)
    for i in (0, 1):
        recorder.reset(i, seed=i)
    for t in range(5000):
        recorder.step(np.full((2, 1), t, np.float32))
        if t % 50 == 49:
            for i in (0, 1):
                recorder.reset(i, seed=t + i)
    assert len(recorder._actions) == 1024
    for t in range(30):
        recorder.step(np.full((2, 1), t, np.float32))
    recorder.reset(1, seed=9)
    first, second = recorder.traces()
    assert first.segments[0][0] == 4999
    assert first.segments[0][1][:, 0].tolist() == list(range(30))
    assert second.env_steps == 0


def test_another_observation_is_declared() -> None:
    recipe = EnvRecipe("env_zoo:Walk", {"noise": "hidden"})
    with open_batch(recipe, 2) as batch:
        player = Player(batch)
        player.reset([0, 1])
        player.play(100)
        traces, expected = player.recorder.traces(), obs_hashes(batch)
    with open_batch(recipe, 2) as batch:
        results = restore(batch, traces, expected)
        assert not any(result.exact for result in results)
        assert "environment 0 came to another observation" in results[0].reason
        with pytest.raises(EnvError, match="same n_envs"):
            restore(batch, traces[:1], expected)


@pytest.mark.parametrize(
    ("env", "kwargs", "exact", "reason"),
    [
        ("CartPole-v1", {}, True, "functions of their seed"),
        ("BipedalWalker-v3", {}, True, ""),
        ("env_zoo:Walk", {}, True, ""),
        ("env_zoo:Remembering", {}, True, ""),
        ("env_zoo:Walk", {"noise": "global"}, False, "same seed and actions differ"),
        ("env_zoo:Walk", {"noise": "hidden"}, False, "state_dict"),
    ],
)
def test_the_probe(env: str, kwargs: dict[str, Any], exact: bool, reason: str) -> None:
    verdict = probe_determinism(EnvRecipe(env, kwargs), seed=3)
    assert verdict.exact == exact
    assert reason in verdict.reason


def test_the_probe_allows_continued_games() -> None:
    assert probe_determinism(EnvRecipe("ALE/Breakout-v5", {}, ["atari"]), seconds=0.6).exact


def test_states_are_json() -> None:
    state = {
        "a": np.arange(4, dtype=np.float32),
        "n": 2**70,
        "x": np.float64(0.1),
        "inf": float("inf"),
        "deep": {"l": [1, "s", None, True]},
    }
    again = decode_state(json.loads(json.dumps(encode_state(state), allow_nan=False)))
    assert again.pop("a").tolist() == [0, 1, 2, 3]
    assert again == {k: v for k, v in state.items() if k != "a"}
    with pytest.raises(EnvError, match=r"a set as state\['x'\]"):
        encode_state({"x": {1}})
    with pytest.raises(EnvError, match="dtype"):
        encode_state({"x": np.array([object()])})
    with pytest.raises(EnvError, match="dtype"):
        decode_state({"__array__": "O", "shape": [1], "data": ""})


def test_other_layers_are_refused() -> None:
    with (
        InlineBatch([env_zoo.Walk()]) as batch,
        pytest.raises(EnvError, match="0 layers with state_dict"),
    ):
        load_state(batch, [[{"episodes": 1}]])


@pytest.mark.parametrize("length", [1, 7, 1000, 1024, 3000])
def test_whole_rollouts_leave_the_traces_of_single_steps(length: int) -> None:
    """As the native engine records: many steps at once, seeds asked for late."""
    rng = np.random.default_rng(length)
    one, many = TraceRecorder(3, 2), TraceRecorder(3, 2)
    episode = np.zeros(3, int)
    for recorder in (one, many):
        for i in range(3):
            recorder.reset(i, 10 * i)
    for _ in range(5):
        actions = rng.normal(size=(length, 3, 2)).astype(np.float32)
        done = rng.random((length, 3)) < (0.0005, 0.01, 0.4)
        for row, ended in zip(actions, done, strict=True):
            one.step(row)
            for i in np.flatnonzero(ended).tolist():
                episode[i] += 1
                one.reset(i, 10 * i + int(episode[i]))
        ends = {i: length - done[::-1, i].argmax() for i in range(3) if done[:, i].any()}
        many.rollout(actions, ends, lambda i: 10 * i + int(episode[i]))
        for name, array in one.to_arrays().items():
            np.testing.assert_array_equal(array, many.to_arrays()[name])
