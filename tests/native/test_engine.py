"""A run on the native engine: the same run as on torch, but for rounding, and its checkpoints."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.assemble import make_recipe
from dressage.core.algorithm import Task
from dressage.core.hooks import Hook, Moment
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.envs.backends import open_batch
from dressage.errors import ConfigError
from dressage.native import structs
from dressage.native.algorithm import NativeAlgorithm
from dressage.native.learner import named_metrics
from dressage.presets.resolve import resolve
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint
from dressage.runs.run import Run

SMALL: dict[str, Any] = {
    "n_envs": 4,
    "n_steps": 32,
    "env_steps": 384,
    "net_arch": [16, 16],
    "eval_every": 0,
    "final_eval_episodes": 3,
    "preset": False,
    "log_every": 1,
}
PPO = {"batch_size": 64, "n_epochs": 3}
NORMALISED = {"normalize_obs": True, "normalize_reward": True}
CASES: dict[str, dict[str, Any]] = {
    "cartpole": {"env": "CartPole-v1", **PPO},
    "cartpole-normalised": {"env": "CartPole-v1", **PPO, **NORMALISED},
    "pendulum-shared": {"env": "Pendulum-v1", **PPO, "share_features": True, "activation": "relu"},
    "mountain-car-squashed": {"env": "MountainCarContinuous-v0", **PPO, "squash": True},
    "batch-advantages": {"env": "Acrobot-v1", **PPO, "normalize_advantage": "batch"},
    "value-clipping": {"env": "CartPole-v1", **PPO, "clip_range_vf": 0.1, "ent_coef": 0.01},
    "python-env": {"env": "CartPole-v1", **PPO, "backend": "inline"},
    "kinds": {"env": "dressage.envs.toys:Kinds", **PPO, "env_kwargs": {"action": "hybrid_dict"}},
    "masks": {"env": "dressage.envs.toys:Kinds", **PPO, "env_kwargs": {"masked": True}},
    "a2c": {"env": "CartPole-v1", "algo": "a2c"},
    "a2c-tf": {"env": "CartPole-v1", "algo": "a2c", "optimizer": "rmsprop_tf"},
    "sgd": {"env": "CartPole-v1", **PPO, "optimizer": "sgd", "momentum": 0.5},
    "a2c-adam": {"env": "Pendulum-v1", "algo": "a2c", "optimizer": "adam", "gae_lambda": 0.9},
    "reinforce": {"env": "CartPole-v1", "algo": "reinforce", "baseline_steps": 5},
    "reinforce-plain": {"env": "CartPole-v1", "algo": "reinforce", "baseline": False},
    "reinforce-shared": {"env": "CartPole-v1", "algo": "reinforce", "share_features": True},
}


def train(case: str, engine: str, runs: Path, **more: Any) -> Run:
    settings = {**SMALL, **CASES[case], **more}
    run = dressage.train(**settings, engine=engine, runs=runs / engine)
    assert isinstance(run, Run)
    return run


@pytest.mark.parametrize("case", CASES)
def test_both_engines_train_the_same_run(case: str, tmp_path: Path) -> None:
    """Actions are drawn from the same numbers, so trajectories part only where rounding grows.

    The first iteration acts with equal weights; its metrics agree to rounding.
    """
    ours, theirs = (train(case, engine, tmp_path) for engine in ("native", "torch"))
    a, b = ours.metrics(), theirs.metrics()
    assert list(a) == list(b), "the header of metrics.csv is the same"
    for name in a:
        if name.startswith("sys/") or name == "wall_seconds":
            continue
        x, y = float(a[name][0]), float(b[name][0])
        assert np.isclose(x, y, rtol=2e-3, atol=2e-4, equal_nan=True), f"{name}: {x} and {y}"
        assert np.isnan(a[name]).tolist() == np.isnan(b[name]).tolist(), f"{name} is filled alike"


@pytest.mark.parametrize("case", CASES)
def test_first_weights_are_equal(case: str) -> None:
    given = {k: v for k, v in {**SMALL, **CASES[case]}.items() if k != "preset"}
    resolved = resolve(given["env"], given.get("algo"), given, use_preset=False)
    with open_batch(make_recipe(resolved), 1) as batch:
        spec = TaskSpec(batch.obs_codec, batch.action_codec, masked=False)
    task = Task(spec, resolved.run, Rng(3))
    ours = NativeAlgorithm(resolved.algo).init(task, resolved.cfg).weights()
    theirs = resolved.algo.init(task, resolved.cfg).weights()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


class Stop(Hook):
    """After an iteration from `env_steps` on."""

    def __init__(self, env_steps: int) -> None:
        self.env_steps = env_steps

    def on_iteration(self, moment: Moment) -> None:
        if moment.env_steps >= self.env_steps:
            moment.stop("test")


@pytest.mark.parametrize(
    "case", ["cartpole-normalised", "a2c-adam", "a2c", "a2c-tf", "sgd", "reinforce", "kinds"]
)
@pytest.mark.parametrize(("first", "then"), [("native", "torch"), ("torch", "native")])
def test_either_engine_goes_on_from_the_others_checkpoint(
    case: str, first: str, then: str, tmp_path: Path
) -> None:
    """The moved run goes on as the one that stayed, to rounding; and it says that it moved."""
    stayed = train(case, first, tmp_path / "stayed", env_steps=256)
    stopped = train(case, first, tmp_path / "moved", env_steps=256, hooks=[Stop(128)])
    assert stopped.status == "stopped"
    moved = dressage.train(resume=stopped, engine=then, trust=True)
    assert isinstance(moved, Run)
    (event,) = moved.events("resume")
    assert event["exact"] is False
    assert event["changed"] == {"engine": then}
    for part in ("policy", "optimizer"):
        ends = [
            load_checkpoint(latest_checkpoint(r.path).path).parts[part] for r in (stayed, moved)
        ]
        assert ends[0].keys() == ends[1].keys()
        for name, value in ends[0].items():
            error = np.abs(value - ends[1][name]).max(initial=0.0)
            assert error <= 2e-3 * (1.0 + np.abs(value).max(initial=0.0)), f"{part} {name}: {error}"


def test_a_resume_keeps_its_engine(tmp_path: Path) -> None:
    for engine in ("native", "torch"):
        run = train("cartpole", engine, tmp_path, hooks=[Stop(128)])
        config = json.loads((run.path / "config.json").read_text())
        config["values"]["engine"] = "auto"
        (run.path / "config.json").write_text(json.dumps(config))
        resumed = dressage.train(resume=run)
        (event,) = resumed.events("resume")  # type: ignore[union-attr]
        assert event["exact"] is True, event


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"recurrent": "gru"}, "recurrent=gru"),
        ({"use_sde": True, "env": "Pendulum-v1"}, "use_sde"),
        ({"optimizer": "lamb"}, "optimizer=lamb"),
        ({"precision": "bf16"}, "precision=bf16"),
        ({"compile": True}, "compile"),
        ({"net_arch": [4] * 9}, "hidden layers"),
    ],
)
def test_what_it_cannot_do_is_said(settings: dict[str, Any], why: str, tmp_path: Path) -> None:
    given = {"env": "CartPole-v1", **SMALL, **settings}
    with pytest.raises(ConfigError, match=why):
        dressage.train(**given, engine="native", runs=tmp_path)


def test_auto_tells_which_engine_and_why(tmp_path: Path) -> None:
    native = dressage.train(env="CartPole-v1", **SMALL, runs=tmp_path)
    assert native.system["engine"].startswith("native-")  # type: ignore[union-attr]
    torch = dressage.train(env="CartPole-v1", **SMALL, recurrent="gru", runs=tmp_path)
    assert torch.system["engine"] == "torch"  # type: ignore[union-attr]
    assert "recurrent=gru" in torch.system["engine_reason"]  # type: ignore[union-attr]


def test_a_native_run_needs_no_torch(tmp_path: Path) -> None:
    """Train, resume, evaluate and predict in an interpreter where importing torch fails."""
    source = f"""
import sys
sys.modules["torch"] = None
import dressage
run = dressage.train("CartPole-v1", env_steps=1024, runs={str(tmp_path)!r}, quiet=True)
assert run.system["engine"].startswith("native"), run.system
dressage.train(resume=run, env_steps=2048)
assert dressage.evaluate(run, episodes=3)["episodes"] == 3
policy = dressage.load(run)
action, state = policy.predict([0.0, 0.0, 0.0, 0.0])
assert action in (0, 1)
"""
    source = source.replace(", quiet=True", "")
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _end(run: Run, part: str) -> dict[str, Any]:
    path = latest_checkpoint(run.path).path
    assert path is not None
    return load_checkpoint(path).parts[part]


def test_a_structure_is_read_in_one_go() -> None:
    """Every number at its place, padding and arrays included."""
    episode = structs.FinishedEpisode(7, 1.5, 3, True, math.nan, 2)
    read = structs.layout(structs.FinishedEpisode).unpack_from(episode)
    assert read[:4] == (7, 1.5, 3, True)
    assert math.isnan(read[4])
    assert read[5] == 2
    metrics = structs.UpdateMetrics(*range(9), (9.0, 10.0, 11.0), 12, 13, 14)
    assert structs.layout(structs.UpdateMetrics).unpack_from(metrics)[:15] == tuple(range(15))
    named = named_metrics(metrics, ())
    assert named["train/metrics/grad_norm/value"] == 10.0
    assert named["train/metrics/grad_norm/total"] == 12.0
    assert named["train/metrics/skipped_updates"] == 14.0
    assert "" not in named, "the number of minibatches is no metric"
