"""Demonstrations in a replay memory: reading, mixing, keeping, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage import conformance
from dressage.core.replay import DemonstratedReplay, ReplaySettings
from dressage.core.replay.demonstrations import read_demonstrations
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.envs.backends import open_batch
from dressage.envs.make import make_env
from dressage.errors import ConfigError, RunError
from dressage.runs.tensors import write_tensors

N, COUNT, RNG = 2, 41, Rng(3)


def recorded(env: str, count: int = COUNT, **given: Any) -> dict[str, Any]:
    """Random transitions, in the form of a file."""
    made = make_env(env, env_kwargs=given)
    made.action_space.seed(0)
    rows: dict[str, list[Any]] = {}
    obs, _ = made.reset(seed=0)
    for i in range(count):
        action = made.action_space.sample()
        after, reward, terminated, truncated, _ = made.step(action)
        row = {
            "action": action,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }
        for name, value in (("obs", obs), ("next_obs", after)):
            parts = value.items() if isinstance(value, dict) else [("", value)]
            row |= {f"{name}/{part}".rstrip("/"): x for part, x in parts}
        for name, value in row.items():
            rows.setdefault(name, []).append(np.array(value))
        obs = after
        if terminated or truncated:
            obs, _ = made.reset(seed=i)
    return {name: np.stack(values) for name, values in rows.items()}


def saved(arrays: dict[str, Any], path: Path) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    else:
        write_tensors(path, arrays)
    return path


class Collector:
    """As much of a collector as a memory looks at."""

    n_envs, obs_normalizer, reward_normalizer = N, None, None

    def __init__(self) -> None:
        self.batch = open_batch("CartPole-v1", N)

    def keep_raw(self) -> None: ...


def memory(path: Path, folder: Path, **given: Any) -> DemonstratedReplay:
    settings = {"buffer_size": 30 * N, "batch_size": 40, "demonstrations": str(path)}
    made = DemonstratedReplay(ReplaySettings(**{**settings, **given}))
    made.attach(Collector(), folder)  # type: ignore[arg-type]
    return made


def own(length: int) -> Steps:
    """Steps whose reward is 7."""
    shape = (length, N)
    obs = np.full((*shape, 4), 9.0, np.float32)
    ends = np.zeros(shape, bool)
    reward = np.full(shape, 7.0, np.float32)
    extras = {"first": ends.copy(), "mask": np.ones((*shape, 2), bool)}
    return Steps(obs, np.zeros((*shape, 1), np.float32), reward, ends, ends.copy(), obs, extras)


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
@pytest.mark.parametrize(
    "env", ["CartPole-v1", "Pendulum-v1", "dressage.envs.goals:BitFlip", "Kinds"]
)
def test_files_are_read_as_the_environment_gives_them(env: str, kind: str, tmp_path: Path) -> None:
    name, given = (
        ("dressage.envs.toys:Kinds", {"observation": "dict"}) if env == "Kinds" else (env, {})
    )
    arrays = recorded(name, **given)
    path = saved(arrays, tmp_path / f"demo.{kind}")
    with open_batch(name if not given else lambda: make_env(name, env_kwargs=given), 1) as batch:
        steps = read_demonstrations(path, batch.obs_codec, batch.action_codec)
        for i in (0, COUNT - 1):
            keys = [key for key in arrays if key.startswith("obs")]
            one: Any = {key.removeprefix("obs/"): arrays[key][i] for key in keys}
            expected = batch.obs_codec.encode(one.get("obs", one))
            for part in expected if isinstance(expected, dict) else [None]:
                found = steps.obs if part is None else steps.obs[part]
                wanted = expected if part is None else expected[part]
                assert np.array_equal(found[i], wanted)
            assert np.array_equal(steps.action[i], batch.action_codec.encode(arrays["action"][i]))
    assert np.allclose(steps.reward, arrays["reward"])
    assert np.array_equal(steps.terminated, arrays["terminated"])


def test_a_share_of_each_batch_is_theirs_for_good(tmp_path: Path) -> None:
    path = saved(recorded("CartPole-v1"), tmp_path / "demo.npz")
    made = memory(path, tmp_path, demo_share=0.3, prioritized=True)
    made.add(own(50))  # more than it holds
    cfg = ReplaySettings().at(0.5)
    for i, batch in enumerate(made.batches(RNG, 3, cfg)):
        place = batch.extras["place"]
        assert len(batch.reward) == 40 and (place < 0).sum() == 12
        assert np.all(batch.reward[place < 0] == 1.0) and np.all(batch.reward[place >= 0] == 7.0)
        assert batch.extras["mask"].all() and batch.extras["weight"].shape == (40,)
        before = made.priorities.leaves.copy()  # type: ignore[union-attr]
        made.feedback(place, np.full(40, 3.0 + i, np.float32), cfg)
        changed = np.flatnonzero(before != made.priorities.leaves)  # type: ignore[union-attr]
        assert set(changed) == set(place[place >= 0])
        assert made.metrics(place)["train/metrics/buffer_fill"] == 1.0
    drawn = np.concatenate([b.obs[28:, 0] for b in made.batches(RNG, 30, cfg)])
    assert len(np.unique(drawn)) == COUNT // N * N  # all of them, but for what N leaves over


def test_all_of_a_batch_may_be_theirs(tmp_path: Path) -> None:
    path = saved(recorded("CartPole-v1"), tmp_path / "demo.npz")
    made = memory(path, tmp_path, demo_share=1.0)
    made.add(own(5))
    (batch,) = made.batches(RNG, 1, ReplaySettings())
    assert len(batch.reward) == 40 and np.all(batch.reward == 1.0)
    assert made.draws == 1


def test_they_may_be_overwritten(tmp_path: Path) -> None:
    arrays = recorded("CartPole-v1")
    path = saved(arrays, tmp_path / "demo.safetensors")
    made = memory(path, tmp_path, demo_share=0.0, n_step=3)
    made.add(own(2))
    rows = COUNT // N
    assert made.ring.high == rows + 2
    envs = np.arange(N)[None]
    stored = made.ring.take("obs", np.arange(rows)[:, None], envs)
    stretches = arrays["obs"][: rows * N].reshape(N, rows, 4).swapaxes(0, 1)
    assert np.array_equal(stored, stretches)
    # the last of them do not run on into what follows
    last = made.ring.take("truncated", np.array([[rows - 1]]), envs)
    ended = made.ring.take("terminated", np.array([[rows - 1]]), envs)
    assert np.all(last | ended)
    path.unlink()  # not needed any more
    for _ in range(4):
        made.add(own(8))
    (batch,) = made.batches(RNG, 1, ReplaySettings())
    assert made.ring.low > rows and np.all(batch.obs == 9.0)


def test_resumes_exactly_and_only_with_the_same(tmp_path: Path) -> None:
    path = saved(recorded("CartPole-v1"), tmp_path / "demo.npz")
    asked: Any = {
        "algo": "dqn",
        "demonstrations": str(path),
        "env_steps": 400,
        "n_envs": 2,
        "buffer_size": 100,
        "batch_size": 16,
        "learning_starts": 40,
        "net_arch": [8],
        "prioritized": True,
        "log_every": 100,
        "eval_every": 0,
        "final_eval_episodes": 0,
        "checkpoint_every": 100,
        "keep_checkpoints": 9,
        "backend": "inline",
    }
    for share in (0.25, 0.0):
        asked["demo_share"] = share
        whole = dressage.train("CartPole-v1", preset=False, runs=tmp_path, **asked)
        hooks = [conformance.StopAfter(15)]
        stopped = dressage.train("CartPole-v1", preset=False, runs=tmp_path, hooks=hooks, **asked)
        assert stopped.status == "stopped"
        dressage.train(resume=stopped)
        assert not conformance.differences(whole.path, stopped.path)
    asked["demo_share"] = 0.25
    hooks = [conformance.StopAfter(15)]
    stopped = dressage.train("CartPole-v1", preset=False, runs=tmp_path, hooks=hooks, **asked)
    saved(recorded("CartPole-v1", 50), path)
    with pytest.raises(RunError, match="holds other transitions than when the run began"):
        dressage.train(resume=stopped)


def test_the_memory_of_a_run_serves_as_well(tmp_path: Path) -> None:
    asked: Any = {
        "algo": "dqn",
        "n_envs": 2,
        "env_steps": 200,
        "net_arch": [8],
        "buffer_size": 80,
        "eval_every": 0,
        "final_eval_episodes": 0,
    }
    run = dressage.train("CartPole-v1", preset=False, runs=tmp_path, **asked)
    with open_batch("CartPole-v1", 1) as batch:
        steps = read_demonstrations(run.path, batch.obs_codec, batch.action_codec)
        assert len(steps.reward) == 80 and np.all(steps.reward == 1.0)
        follows = ~(steps.terminated | steps.truncated)
        assert np.array_equal(steps.next_obs[:-1][follows[:-1]], steps.obs[1:][follows[:-1]])
    with open_batch("Acrobot-v1", 1) as other, pytest.raises(ConfigError, match="other observ"):
        read_demonstrations(run.path, other.obs_codec, other.action_codec)
    del asked["buffer_size"]
    a2c = dressage.train("CartPole-v1", preset=False, runs=tmp_path, **asked | {"algo": "a2c"})
    with open_batch("CartPole-v1", 1) as batch, pytest.raises(ConfigError, match="without a repl"):
        read_demonstrations(a2c.path, batch.obs_codec, batch.action_codec)


def wrong(name: str, value: Any) -> dict[str, Any]:
    arrays = recorded("CartPole-v1")
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    return arrays


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (wrong("obs", np.zeros((COUNT, 3))), r"obs has shape \(41, 3\), expected \(41, 4\)"),
        (wrong("next_obs", None), "has no 'next_obs'"),
        (wrong("reward", np.full(COUNT, np.nan)), "reward has NaN"),
        (wrong("terminated", np.zeros(9, bool)), r"terminated has shape \(9,\), expected \(41,\)"),
        (wrong("action", np.full(COUNT, 2)), r"action 2 \(entry 0\) is outside .* 40 more"),
    ],
)
def test_what_does_not_fit_is_said(arrays: Any, words: str, tmp_path: Path) -> None:
    path = saved(arrays, tmp_path / "demo.npz")
    with pytest.raises(ConfigError, match=words):
        memory(path, tmp_path)


def test_what_is_no_file_of_transitions_is_said(tmp_path: Path) -> None:
    for name, content in (("a.npz", b"nonsense"), ("b.safetensors", b"x"), ("c.pkl", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match=f"{name} (cannot be read|is neither)"):
            memory(tmp_path / name, tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        memory(tmp_path / "missing.npz", tmp_path)
    objects = tmp_path / "objects.npz"
    np.savez(objects, reward=np.array([{}], object), allow_pickle=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        memory(objects, tmp_path)
    few = saved(recorded("CartPole-v1", 1), tmp_path / "few.npz")
    with pytest.raises(ConfigError, match="1 transitions, fewer than the n_envs=2"):
        memory(few, tmp_path)
