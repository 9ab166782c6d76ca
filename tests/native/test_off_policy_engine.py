"""Whole off-policy runs on the native engine, beside the same runs on torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.assemble import make_recipe
from dressage.conformance import differences
from dressage.core.algorithm import Task
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.envs.backends import open_batch
from dressage.errors import ConfigError
from dressage.native.algorithm import on_native
from dressage.native.off_policy import NativeOffPolicy
from dressage.presets.resolve import resolve
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint
from dressage.runs.run import Run

from .test_engine import Stop

SMALL: dict[str, Any] = {
    "preset": False,
    "env_steps": 192,
    "n_envs": 2,
    "log_every": 32,
    "eval_every": 96,
    "eval_episodes": 2,
    "final_eval_episodes": 2,
    "seed": 3,
    "net_arch": [16, 16],
    "learning_starts": 32,
    "batch_size": 32,
    "train_freq": 4,
    "gradient_steps": 2,
    "buffer_size": 120,
    "learning_rate": 1e-3,
}
KINDS = "dressage.envs.toys:Kinds"
DQN = {"algo": "dqn", "target_update_interval": 16}
CASES: dict[str, dict[str, Any]] = {
    "dqn": {"env": "CartPole-v1", **DQN},
    "dqn-dueling": {"env": "CartPole-v1", **DQN, "dueling": True, "double": False, "n_step": 3},
    "dqn-normalised": {
        "env": "CartPole-v1",
        **DQN,
        "normalize_obs": True,
        "normalize_reward": True,
        "layer_norm": True,
    },
    "dqn-boltzmann": {"env": "Acrobot-v1", **DQN, "temperature": 0.5, "epsilon": 0.1},
    "dqn-python-env": {"env": "CartPole-v1", **DQN, "backend": "inline", "gradient_steps": -1},
    "dqn-masks": {"env": KINDS, **DQN, "env_kwargs": {"masked": True}},
    "dqn-choices": {"env": KINDS, **DQN, "env_kwargs": {"action": "multi_discrete"}},
    "sac": {"env": "Pendulum-v1", "algo": "sac"},
    "sac-fixed": {"env": "Pendulum-v1", "algo": "sac", "ent_coef": 0.1, "n_critics": 3},
    "sac-python-env": {"env": "Pendulum-v1", "algo": "sac", "backend": "inline"},
    "sac-normalised": {"env": "Pendulum-v1", "algo": "sac", "normalize_obs": True},
    "td3": {"env": "Pendulum-v1", "algo": "td3", "gradient_steps": 1},
    "td3-ou": {"env": "Pendulum-v1", "algo": "td3", "action_noise": "ou"},
    "ddpg": {"env": "MountainCarContinuous-v0", "algo": "ddpg", "optimizer": "sgd"},
    "tqc": {"env": "Pendulum-v1", "algo": "tqc"},
    "tqc-fixed": {"env": "Pendulum-v1", "algo": "tqc", "ent_coef": 0.1, "n_quantiles": 7},
    "tqc-python-env": {"env": "Pendulum-v1", "algo": "tqc", "backend": "inline", "n_step": 3},
}
CASES |= {
    "qr_dqn": {"env": "CartPole-v1", **DQN, "algo": "qr_dqn"},
    "qr_dqn-dueling": {
        "env": "CartPole-v1",
        **DQN,
        "algo": "qr_dqn",
        "n_quantiles": 21,
        "dueling": True,
        "double": True,
        "n_step": 3,
        "normalize_obs": True,
    },
    "qr_dqn-masks": {"env": KINDS, **DQN, "algo": "qr_dqn", "env_kwargs": {"masked": True}},
    "qr_dqn-choices": {
        "env": KINDS,
        **DQN,
        "algo": "qr_dqn",
        "n_quantiles": 9,
        "env_kwargs": {"action": "multi_discrete"},
    },
}
CASES |= {
    "c51": {"env": "CartPole-v1", **DQN, "algo": "c51", "v_min": 0.0, "v_max": 60.0},
    "c51-dueling": {
        "env": "CartPole-v1",
        **DQN,
        "algo": "c51",
        "n_atoms": 21,
        "dueling": True,
        "double": True,
        "n_step": 3,
        "normalize_obs": True,
    },
    "c51-masks": {"env": KINDS, **DQN, "algo": "c51", "env_kwargs": {"masked": True}},
    "c51-choices": {
        "env": KINDS,
        **DQN,
        "algo": "c51",
        "env_kwargs": {"action": "multi_discrete"},
    },
    "rainbow-plain": {  # without what only torch has
        "env": "CartPole-v1",
        **DQN,
        "algo": "rainbow",
        "noisy": False,
        "epsilon": 0.1,
    },
}
CASES |= {
    f"{case}-prioritized": {**CASES[case], "prioritized": True}
    for case in (
        *("dqn", "dqn-normalised", "dqn-python-env", "dqn-masks", "qr_dqn-dueling", "c51"),
        *("sac", "sac-python-env", "td3", "ddpg", "tqc"),
    )
}


def train(case: str, engine: str, runs: Path, **more: Any) -> Run:
    settings = {**SMALL, **CASES[case], **more}
    run = dressage.train(**settings, engine=engine, runs=runs / engine)
    assert isinstance(run, Run)
    return run


@pytest.mark.parametrize("case", CASES)
def test_both_engines_make_the_same_run(case: str, tmp_path: Path) -> None:
    """Draws are the same, so the runs part only where rounding grows: the first rows agree."""
    ours, theirs = (train(case, engine, tmp_path) for engine in ("native", "torch"))
    a, b = ours.metrics(), theirs.metrics()
    assert list(a) == list(b), "the header of metrics.csv is the same"
    for name in a:
        if name.startswith("sys/") or name == "wall_seconds":
            continue
        assert np.isnan(a[name]).tolist() == np.isnan(b[name]).tolist(), f"{name} is filled alike"
        for row in range(2):
            x, y = float(a[name][row]), float(b[name][row])
            assert np.isclose(x, y, rtol=2e-3, atol=2e-4, equal_nan=True), f"{name}: {x} and {y}"


@pytest.mark.parametrize("case", CASES)
def test_first_weights_are_equal_too(case: str) -> None:
    given = {k: v for k, v in {**SMALL, **CASES[case]}.items() if k != "preset"}
    resolved = resolve(given["env"], given["algo"], given, use_preset=False)
    with open_batch(make_recipe(resolved), 1) as batch:
        spec = TaskSpec(batch.obs_codec, batch.action_codec, masked=False)
    task = Task(spec, resolved.run, Rng(3))
    ours = on_native(resolved.algo).init(task, resolved.cfg).weights()
    theirs = resolved.algo.init(task, resolved.cfg).weights()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


MOVED = ("dqn-normalised", "dqn-dueling", "sac", "tqc", "td3-ou", "ddpg")
MOVED += ("qr_dqn-dueling", "c51-dueling", "dqn-prioritized", "sac-prioritized", "rainbow-plain")


@pytest.mark.parametrize("case", MOVED)
@pytest.mark.parametrize(("first", "then"), [("native", "torch"), ("torch", "native")])
def test_checkpoints_move_between_engines(case: str, first: str, then: str, tmp_path: Path) -> None:
    stayed = train(case, first, tmp_path / "stayed", env_steps=128)
    stopped = train(case, first, tmp_path / "moved", env_steps=128, hooks=[Stop(64)])
    assert stopped.status == "stopped"
    moved = dressage.train(resume=stopped, engine=then, trust=True)
    assert isinstance(moved, Run)
    for part in ("policy", "optimizer"):
        ends = [
            load_checkpoint(latest_checkpoint(r.path).path).parts[part] for r in (stayed, moved)
        ]
        assert ends[0].keys() == ends[1].keys()
        for name, value in ends[0].items():
            error = np.abs(value - ends[1][name]).max(initial=0.0)
            assert error <= 2e-3 * (1.0 + np.abs(value).max(initial=0.0)), f"{part} {name}: {error}"


RESUMED = ("dqn", "dqn-normalised", "sac", "tqc", "td3", "ddpg", "qr_dqn", "c51")
RESUMED += ("dqn-prioritized", "tqc-prioritized", "rainbow-plain")


@pytest.mark.parametrize("case", RESUMED)
def test_a_resume_is_exact(case: str, tmp_path: Path) -> None:
    """With native environments, whose rounds are one call."""
    given = {"env_steps": 160, "checkpoint_every": 32, "keep_checkpoints": 9}
    whole = train(case, "native", tmp_path / "whole", **given)
    stopped = train(case, "native", tmp_path / "stopped", **given, hooks=[Stop(80)])
    assert stopped.status == "stopped"
    resumed = dressage.train(resume=stopped)
    assert isinstance(resumed, Run)
    (event,) = resumed.events("resume")
    assert event["exact"] is True
    assert differences(whole.path, resumed.path) == []


@pytest.mark.parametrize(
    "case",
    [
        "dqn",
        "dqn-normalised",
        "dqn-dueling",
        "dqn-boltzmann",
        "qr_dqn",
        "qr_dqn-dueling",
        "c51",
        "c51-dueling",
        "dqn-prioritized",
        "qr_dqn-dueling-prioritized",
        "rainbow-plain",
    ],
)
def test_rounds_are_those_of_the_trainer(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step by step in Python, or all in one call: the same run to the bit."""
    given = {"env_steps": 480, "train_freq": 2, "log_every": 96}  # two rounds an iteration
    fast = train(case, "native", tmp_path / "fast", **given)
    monkeypatch.setattr(NativeOffPolicy, "whole_iteration", lambda *_: None)
    slow = train(case, "native", tmp_path / "slow", **given)
    found = [text for text in differences(fast.path, slow.path) if "metrics.csv" not in text]
    assert found == []
    a, b = fast.metrics(), slow.metrics()
    for name in a:
        if not name.startswith("sys/") and name != "wall_seconds":
            np.testing.assert_allclose(a[name], b[name], rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    "case", ["sac", "sac-normalised", "td3", "tqc", "tqc-fixed", "sac-prioritized"]
)
def test_rounds_of_continuous_actions_are_those_of_the_trainer(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numpy's tanh and C's differ in the last bit, so that the runs part by rounding alone."""
    fast = train(case, "native", tmp_path / "fast", env_steps=160)
    monkeypatch.setattr(NativeOffPolicy, "whole_iteration", lambda *_: None)
    slow = train(case, "native", tmp_path / "slow", env_steps=160)
    a, b = fast.metrics(), slow.metrics()
    assert list(a) == list(b)
    for name in a:
        if not name.startswith("sys/") and name != "wall_seconds":
            np.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"noisy": True}, "noisy=true"),
        ({"optimizer": "lamb"}, "optimizer=lamb"),
        ({"net_arch": [4] * 9}, "hidden layers"),
        ({"algo": "drqn"}, "no kernel for drqn"),
        ({"algo": "rainbow"}, "noisy=true"),
        ({"env": "Pendulum-v1", "algo": "td3", "parameter_noise": 0.1}, "parameter_noise"),
        ({"env": "Pendulum-v1", "algo": "tqc", "use_sde": True}, "use_sde=true"),
    ],
)
def test_what_it_leaves_to_torch_is_said(
    settings: dict[str, Any], why: str, tmp_path: Path
) -> None:
    given = {"env": "CartPole-v1", **SMALL, "algo": "dqn", **settings}
    with pytest.raises(ConfigError, match=why):
        dressage.train(**given, engine="native", runs=tmp_path)


@pytest.mark.parametrize(
    ("env", "algo"),
    [
        ("CartPole-v1", "dqn"),
        ("CartPole-v1", "qr_dqn"),
        ("Pendulum-v1", "sac"),
        ("Pendulum-v1", "tqc"),
    ],
)
def test_no_torch_is_needed(env: str, algo: str, tmp_path: Path) -> None:
    """Train, resume, evaluate and predict in an interpreter where importing torch fails."""
    source = f"""
import sys
sys.modules["torch"] = None
import dressage
run = dressage.train("{env}", algo="{algo}", env_steps=600, net_arch=[8], learning_starts=100,
                     preset=False, runs={str(tmp_path)!r})
assert run.system["engine"].startswith("native"), run.system
dressage.train(resume=run, env_steps=900)
assert dressage.evaluate(run, episodes=2)["episodes"] == 2
policy = dressage.load(run)
policy.predict([0.0] * policy.spec.obs_shapes[0])
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
