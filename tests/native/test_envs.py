"""Native environments against Gymnasium's: same seeds and actions, same trajectories."""

from __future__ import annotations

import numpy as np
import pytest

from dressage.envs.backends import masked_random_actions, open_batch, same_trajectories
from dressage.envs.batch import EnvBatch, InlineBatch, obs_hashes
from dressage.envs.make import EnvRecipe
from dressage.envs.restore import TraceRecorder, restore
from dressage.errors import EnvError
from dressage.native.env_batch import NATIVE_ENVS, NativeBatch, same_libm, why_not

IDS = sorted(NATIVE_ENVS)


def pair(env: str, n_envs: int, **settings: bool) -> tuple[NativeBatch, EnvBatch]:
    return NativeBatch(env, n_envs, **settings), open_batch(env, n_envs, "inline", **settings)


def actions_for(batch: EnvBatch, rng: np.random.Generator, t: int) -> np.ndarray:
    """Random ones; every other 300 steps such that the car climbs, the pole stays up for long
    and the pendulum swings, so that all parts of the state space are seen."""
    flat = masked_random_actions(batch, rng)
    if (t // 300) % 2:
        return flat
    obs = np.asarray(batch.obs)
    if obs.shape[1] == 4:
        push = obs[:, 2] + 0.5 * obs[:, 3] + 0.1 * obs[:, 0] + 0.2 * obs[:, 1] > 0
    elif obs.shape[1] == 6:
        push = obs[:, 4] < 0
    else:
        push = obs[:, -1] > 0
    keep = rng.random(batch.n_envs) < 0.1
    if batch.action_codec.categories:
        chosen = push * np.float32(batch.action_codec.categories[0] - 1)
    else:
        chosen = np.where(push, 1.5, -1.5).astype(np.float32)  # beyond the bound: it is clipped
    return np.where(keep, flat[:, 0], chosen).astype(np.float32)[:, None]


def compare(env: str, n_envs: int, vector_steps: int) -> tuple[int, int]:
    """Plays both; asserts equal ends and rewards; returns observations off by one ulp and ends."""
    native, inline = pair(env, n_envs)
    rng = np.random.default_rng(1)
    for batch in (native, inline):
        batch.reset_many(range(n_envs), range(n_envs))
    off = ends = 0
    for t in range(vector_steps):
        np.testing.assert_array_max_ulp(native.obs, inline.obs, 1)
        actions = actions_for(native, rng, t)
        native.step(actions)
        inline.step(actions)
        for name in ("reward", "raw_reward", "terminated", "truncated", "game_over"):
            ours, theirs = getattr(native, name), getattr(inline, name)
            assert ours.tobytes() == theirs.tobytes(), f"{name} at vector step {t}"
        np.testing.assert_array_max_ulp(native.next_obs, inline.next_obs, 1)
        off += int((native.next_obs != inline.next_obs).sum())
        ended = np.flatnonzero(native.game_over).tolist()
        ends += len(ended)
        seeds = [int(s) for s in rng.integers(0, 2**31, len(ended))]
        for batch in (native, inline):
            batch.reset_many(ended, seeds)
        off += int((native.obs != inline.obs).sum())
    return off, ends


@pytest.mark.parametrize("env", IDS)
def test_same_ends_rewards_and_observations(env: str) -> None:
    off, ends = compare(env, 8, 700)
    assert ends >= 8
    assert off == 0 or not same_libm()


@pytest.mark.long_native
@pytest.mark.parametrize("env", IDS)
def test_a_million_steps(env: str) -> None:
    off, ends = compare(env, 100, 10_000)
    print(f"{env}: {ends} episodes, {off} observations off by one ulp")
    assert off == 0 or not same_libm()


@pytest.mark.parametrize("env", IDS)
@pytest.mark.parametrize("scale_actions", [False, True])
def test_one_more_backend(env: str, scale_actions: bool) -> None:
    native, inline = pair(env, 5, scale_actions=scale_actions)
    assert native.obs_codec == inline.obs_codec
    assert native.action_codec.to_json() == inline.action_codec.to_json()
    assert same_trajectories(native, inline, 250) or not same_libm()


def test_batches_beyond_a_block() -> None:
    assert same_trajectories(*pair("CartPole-v1", 131), 60) or not same_libm()


@pytest.mark.parametrize("env", IDS)
def test_replay_brings_an_episode_back(env: str) -> None:
    batch, again = NativeBatch(env, 4), NativeBatch(env, 4)
    rng, trace = np.random.default_rng(2), TraceRecorder(4, 1)
    for i in range(4):
        batch.reset(i, 10 + i)
        trace.reset(i, 10 + i)
    seed = 20
    for _ in range(77):
        actions = masked_random_actions(batch, rng)
        batch.step(actions)
        trace.step(actions)
        for i in np.flatnonzero(batch.game_over).tolist():
            batch.reset(i, seed)
            trace.reset(i, seed)
            seed += 1
    for other in (again, InlineBatch([EnvRecipe(env)() for _ in range(4)])):
        other.load_states(batch.states())
        found = restore(other, trace.traces(), obs_hashes(batch))
        assert all(one.exact for one in found) or not same_libm()
    for _ in range(50):
        actions = masked_random_actions(batch, rng)
        batch.step(actions)
        again.step(actions)
        assert obs_hashes(batch) == obs_hashes(again)
        assert batch.truncated.tobytes() == again.truncated.tobytes()


def test_another_time_limit() -> None:
    recipe = EnvRecipe("MountainCar-v0", max_episode_steps=7)
    native, inline = NativeBatch.from_recipe(recipe, 3), InlineBatch([recipe() for _ in range(3)])
    assert same_trajectories(native, inline, 30) or not same_libm()


def test_wrong_actions_and_seeds_are_named() -> None:
    batch = NativeBatch("CartPole-v1", 3)
    batch.reset_many(range(3), range(3))
    for wrong in (2.0, -1.0, np.nan):
        with pytest.raises(EnvError, match="environment 1 got the action"):
            batch.step(np.array([[0.0], [wrong], [1.0]], np.float32))
    with pytest.raises(EnvError, match="seed is -1"):
        batch.reset(0, -1)
    with pytest.raises(IndexError):
        batch.reset(3, 0)


def test_what_has_no_native_form() -> None:
    assert why_not(EnvRecipe("CartPole-v1")) == ""
    assert "is not one of" in why_not(EnvRecipe("LunarLander-v3"))
    assert "env_kwargs" in why_not(EnvRecipe("Pendulum-v1", env_kwargs={"g": 9.81}))
    with pytest.raises(EnvError, match="no native form"):
        NativeBatch.from_recipe(EnvRecipe("Ant-v5"), 1)
