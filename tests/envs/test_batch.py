from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import env_zoo
import gymnasium as gym
import numpy as np
import pytest

from dressage.envs.backends import choose_backend, open_batch, same_trajectories
from dressage.envs.batch import InlineBatch, check_finite
from dressage.envs.make import EnvRecipe, make_env
from dressage.envs.process import ProcessBatch
from dressage.envs.vector import VectorBatch
from dressage.errors import EnvError


def test_next_obs_is_the_true_successor() -> None:
    batch = InlineBatch([make_env("env_zoo:Walk", max_episode_steps=2) for _ in range(2)])
    batch.reset_many([0, 1], [5, 6])
    first = np.array(batch.obs)
    action = np.ones((2, 1), np.float32)
    batch.step(action)
    assert not batch.truncated.any()
    assert np.array_equal(batch.obs, batch.next_obs)
    batch.step(action)
    assert batch.truncated.all()
    successor = np.array(batch.next_obs)
    batch.reset(0, 5)
    assert np.array_equal(batch.next_obs, successor)
    assert np.array_equal(batch.obs[0], first[0])
    assert np.array_equal(batch.obs[1], successor[1])
    assert not batch.truncated[0]


def test_success_and_game_over() -> None:
    batch = InlineBatch([env_zoo.Walk()])
    batch.reset(0, 0)
    while not (batch.terminated[0] or batch.truncated[0]):
        assert np.isnan(batch.success[0])
        batch.step(np.full((1, 1), 2, np.float32))
    assert batch.game_over[0]
    assert batch.success[0] in (0.0, 1.0) or batch.truncated[0]


RECIPES = [
    EnvRecipe("env_zoo:Walk"),
    EnvRecipe("env_zoo:Hybrid"),
    EnvRecipe("env_zoo:Masked"),
    EnvRecipe("LunarLander-v3", {"continuous": True}, ["time_feature", "frame_stack:2"]),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: str(recipe.env))
def test_processes_give_the_same_trajectories(recipe: EnvRecipe) -> None:
    with open_batch(recipe, 3) as inline, ProcessBatch(recipe, 3, n_workers=2) as process:
        assert same_trajectories(inline, process, 60)
        assert inline.has_mask == process.has_mask == (recipe.env == "env_zoo:Masked")


def test_the_vector_form_gives_the_same_trajectories() -> None:
    recipe = EnvRecipe(env_zoo.Walk, vector=env_zoo.make_vector)
    with open_batch(recipe, 3) as inline, open_batch(recipe, 3, "vector") as vector:
        assert same_trajectories(inline, vector, 120)


def test_a_vector_form_without_a_seed_each_is_refused() -> None:
    with pytest.raises(EnvError, match="expected Disabled"):
        VectorBatch(gym.vector.SyncVectorEnv([env_zoo.Walk] * 2))

    class OneSeed(gym.vector.SyncVectorEnv):  # type: ignore[misc]
        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return super().reset(seed=sum(seed), options=options)

    disabled = gym.vector.AutoresetMode.DISABLED
    with pytest.raises(EnvError, match="first row must be the same"):
        VectorBatch(OneSeed([env_zoo.Walk] * 2, autoreset_mode=disabled))


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_an_env_that_raises_shows_its_own_traceback(backend: str) -> None:
    recipe = EnvRecipe("env_zoo:Walk", {"fail_at": 3})
    with open_batch(recipe, 2, backend) as batch:
        batch.reset_many([0, 1], [0, 1])
        action = np.ones((2, 1), np.float32)
        batch.step(action)
        batch.step(action)
        with pytest.raises(EnvError, match=r"(?s)environment 0 raised RuntimeError.*env_zoo.py"):
            batch.step(action)


def test_a_worker_that_dies_is_told() -> None:
    with ProcessBatch(EnvRecipe("env_zoo:Dies"), 2) as batch:
        batch.reset_many([0, 1], [0, 1])
        with pytest.raises(EnvError, match="died with exit code 7"):
            batch.step(np.ones((2, 1), np.float32))


def test_what_workers_cannot_find_is_told() -> None:
    with pytest.raises(EnvError, match="module:name"):
        ProcessBatch(EnvRecipe(lambda: env_zoo.Walk()), 2)
    with pytest.raises(EnvError, match="cannot be sent"):
        ProcessBatch(EnvRecipe("env_zoo:Walk", {"noise": object()}), 2)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_end_with_their_parent() -> None:
    with ProcessBatch(EnvRecipe("env_zoo:Walk"), 2, n_workers=2) as batch:
        pids = [worker.pid for worker in batch._workers]
    assert not any(map(_alive, pids))
    # No __main__ guard here: a user's script needs none.
    script = (
        "import time\n"
        "from dressage.envs.process import ProcessBatch\n"
        "from dressage.envs.make import EnvRecipe\n"
        "b = ProcessBatch(EnvRecipe('CartPole-v1'), 2, n_workers=2)\n"
        "print(*[w.pid for w in b._workers], flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    for pid in pids:  # Ctrl-C in a terminal reaches them too; they wait for their parent
        os.kill(pid, signal.SIGINT)
    time.sleep(0.1)
    assert all(map(_alive, pids))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(_alive, pids))


def test_masks_follow_the_current_observation() -> None:
    batch = InlineBatch([env_zoo.Masked()])
    assert batch.mask is None
    batch.reset(0, 0)
    assert batch.mask is not None
    assert batch.mask[0].tolist() == [True, True, True]
    batch.step(np.ones((1, 1), np.float32))
    assert batch.mask[0].tolist() == [False, True, False]


def test_cheap_environments_stay_inline() -> None:
    name, measured = choose_backend("CartPole-v1", 8)
    assert name == "inline"
    assert measured.keys() == {"median_step_seconds"}
    assert choose_backend("CartPole-v1", 8, "process") == ("process", {})
    with pytest.raises(EnvError, match="Did you mean 'process'"):
        choose_backend("CartPole-v1", 8, "proces")


def test_dear_environments_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dressage.envs.backends.available_cores", lambda: 2)
    monkeypatch.setattr("dressage.envs.process.available_cores", lambda: 2)
    name, measured = choose_backend(EnvRecipe("env_zoo:Walk", {"sleep": 0.004}), 4)
    assert name == "process"
    slow, fast = (measured[f"{n}_env_steps_per_second"] for n in ("inline", "process"))
    assert fast > slow


def test_not_finite_is_found() -> None:
    obs, reward = np.zeros((5, 2, 3), np.float32), np.zeros((5, 2))
    check_finite(obs, reward)
    check_finite({"vector": obs, "image": obs.astype(np.uint8)}, reward)
    obs[3, 1, 2] = np.nan
    with pytest.raises(EnvError, match=r"environment 1 gave nan as observation, column 2 at .* 3"):
        check_finite(obs, reward)
    obs[:] = 0
    reward[4, 0] = -np.inf
    with pytest.raises(EnvError, match="environment 0 gave -inf as reward"):
        check_finite(obs, reward)


def test_workers_tell_how_long_they_step() -> None:
    """Of a cheap step most is messages; one of 2 ms is nearly all of the time."""
    with InlineBatch([env_zoo.Walk()]) as inline:
        inline.reset(0, 0)
        assert inline.workers_busy() is None
    busy = {}
    for env in ("CartPole-v1", "env_zoo:Slow"):
        with ProcessBatch(EnvRecipe(env), 2, n_workers=2) as batch:
            assert batch.workers_busy() is None, "nothing was asked of them yet"
            batch.reset_many([0, 1], [0, 1])
            batch.workers_busy()
            for _ in range(100):
                batch.step(np.ones((2, 1), np.float32))
                for i in np.flatnonzero(batch.terminated | batch.truncated):
                    batch.reset(int(i), 0)
            busy[env] = batch.workers_busy()
            assert batch.workers_busy() is None, "it counts from the last time it was asked"
    assert 0.0 < busy["CartPole-v1"] < 0.8
    assert 1.0 < busy["env_zoo:Slow"] <= 2.0
