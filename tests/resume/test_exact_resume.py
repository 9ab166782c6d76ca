"""A run that was stopped, in mid-episode, and resumed in a new process equals one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest
from same_run import assert_same_run, documents

import dressage
from dressage.runs.checkpoint import latest_checkpoint, load_checkpoint
from dressage.runs.run import Run

TINY = {
    "seed": 1,
    "n_envs": 2,
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 2,
    "env_steps": 256,
    "net_arch": [8],
    "backend": "inline",
    "engine": "torch",
    "checkpoint_every": 96,
    "eval_every": 100,
    "eval_episodes": 3,
    "final_eval_episodes": 2,
}
SHORT = {"wrappers": ["time_limit:50"]}  # evaluation of whole episodes is slow in these
NORMALISED = {"normalize_obs": True, "normalize_reward": True}
ATARI = {
    "n_steps": 8,
    "batch_size": 16,
    "n_epochs": 1,
    "env_steps": 64,
    "checkpoint_every": 32,
    "eval_every": 32,
    "eval_episodes": 1,
    "final_eval_episodes": 2,
    "stop_at": 40,
}
CASES: dict[str, dict[str, Any]] = {
    "cartpole": {"env": "CartPole-v1"},
    "cartpole-one-env": {"env": "CartPole-v1", "n_envs": 1, "env_steps": 128, "stop_at": 60},
    "cartpole-three-envs": {
        "env": "CartPole-v1",
        "n_envs": 3,
        "batch_size": 24,
        "stop_at": 150,
    },
    "acrobot": {"env": "Acrobot-v1", **SHORT},
    "pendulum": {"env": "Pendulum-v1", **NORMALISED, **SHORT},
    "lunarlander": {"env": "LunarLander-v3", "normalize_reward": True},
    "halfcheetah": {"env": "HalfCheetah-v5", **NORMALISED, **SHORT},
    "pong": {**ATARI, "env": "ALE/Pong-v5", "wrappers": ["time_limit:200", "atari"]},
    # lives: evaluations leave games unfinished, and resets go on with them
    "breakout": {**ATARI, "env": "ALE/Breakout-v5", "wrappers": ["atari"]},
    # minibatches large enough to be shared out to threads
    "breakout-in-parts": {
        **ATARI,
        "env": "ALE/Breakout-v5",
        "wrappers": ["atari"],
        "n_envs": 4,
        "n_steps": 64,
        "batch_size": 256,
        "env_steps": 768,
        "checkpoint_every": 256,
        "eval_every": 0,
        "stop_at": 300,
    },
    "minigrid": {"env": "MiniGrid-Empty-Random-5x5-v0", "wrappers": ["minigrid_image", "flatten"]},
    "own-hidden-state": {"env": "own_envs:leveled", **NORMALISED},
    "own-wrapper": {
        "env": "own_envs:Walk",
        "wrappers": ["own_envs:Level", "frame_stack:2"],
        "callbacks": ["own_envs:Counting"],
    },
    "processes": {"env": "own_envs:leveled", "backend": "process", "eval_every": 0},
    "gru": {"env": "CartPole-v1", "recurrent": "gru", "sequence_length": 8, "hidden_size": 8},
    "lstm": {
        "env": "CartPole-v1",
        "wrappers": ["mask_velocity"],
        "recurrent": "lstm",
        "sequence_length": 8,
        "hidden_size": 8,
        "n_envs": 3,
        "batch_size": 24,
        "stop_at": 150,
    },
    "schedules": {
        "env": "CartPole-v1",
        "learning_rate": "linear(1e-2, 0, warmup=0.1)",
        "value_learning_rate": "cosine(2e-2, 1e-3)",
        "clip_range": "linear(0.3, 0.1)",
        "ent_coef": "exponential(0.1, 0.001)",
        "clip_range_vf": 0.2,
    },
    "target-kl": {"env": "CartPole-v1", "target_kl": 0.0005, "lr": 0.02, "n_epochs": 6},
    "rows-across-checkpoints": {"env": "CartPole-v1", "log_every": 120, "checkpoint_every": 64},
    "adamw-layer-norm": {
        "env": "CartPole-v1",
        "optimizer": "adamw",
        "weight_decay": 0.01,
        "layer_norm": True,
        "share_features": True,
    },
    "rmsprop-momentum": {"env": "CartPole-v1", "optimizer": "rmsprop", "momentum": 0.9},
}
# Python's environments before a native update, or all of an iteration in C.
STEPPED = {"engine": "native", "backend": "inline"}
NATIVE = {"engine": "native", "backend": "native"}
WHOLE_ROLLOUTS = {"batch_size": None, "n_epochs": None}
NATIVE_CASES: dict[str, dict[str, Any]] = {
    "cartpole": {**CASES["cartpole"], **NATIVE},
    "cartpole-three-envs": {**CASES["cartpole-three-envs"], **NATIVE},
    "acrobot": {"env": "Acrobot-v1", **NATIVE, "eval_every": 0},
    "mountain-car": {"env": "MountainCar-v0", **NATIVE, **NORMALISED},
    "pendulum": {"env": "Pendulum-v1", **NATIVE, **NORMALISED, "use_sde": False},
    "mountain-car-continuous": {
        "env": "MountainCarContinuous-v0",
        **NATIVE,
        "use_sde": False,
        "squash": True,
    },
    "schedules": {**CASES["schedules"], **NATIVE},
    "target-kl": {**CASES["target-kl"], **NATIVE},
    "adamw-layer-norm": {**CASES["adamw-layer-norm"], **NATIVE},
    "rmsprop-momentum": {**CASES["rmsprop-momentum"], **NATIVE},
    "a2c": {"env": "CartPole-v1", "algo": "a2c", **NATIVE, **WHOLE_ROLLOUTS},
    "reinforce": {"env": "CartPole-v1", "algo": "reinforce", **NATIVE, **WHOLE_ROLLOUTS},
    "stepped": {**CASES["cartpole"], **STEPPED},
    "stepped-schedules": {**CASES["schedules"], **STEPPED, "optimizer": "sgd", "momentum": 0.5},
    "stepped-halfcheetah": {**CASES["halfcheetah"], **STEPPED},
    "stepped-own-wrapper": {**CASES["own-wrapper"], **STEPPED},
}
CASES |= {f"native-{name}": settings for name, settings in NATIVE_CASES.items()}


def settings_of(name: str) -> tuple[dict[str, Any], int]:
    settings = {**TINY, **CASES[name]}
    stop_at = settings.pop("stop_at", 100)
    return {key: value for key, value in settings.items() if value is not None}, stop_at


def unfinished_env_steps(run: Run) -> list[int]:
    """Of each environment, how far it is into its episode at the last checkpoint."""
    path = latest_checkpoint(run.path).path
    assert path is not None
    return load_checkpoint(path).parts["collector"]["episode_length"].tolist()


@pytest.mark.parametrize("name", CASES)
def test_stopped_and_resumed_equals_uninterrupted(name: str, tmp_path: Path) -> None:
    settings, stop_at = settings_of(name)
    whole = processes.train(**settings, runs=str(tmp_path / "whole"))
    stopped = processes.train(**settings, runs=str(tmp_path / "parts"), stop_at=stop_at)
    run = Run(stopped["path"])
    assert stopped["status"] == "stopped"
    assert run.spec["resume"]["exact"], run.spec["resume"]["reason"]
    assert min(unfinished_env_steps(run)) > 0, "an environment is not in mid-episode"

    resumed = processes.train(resume=str(run.path), trust=True)
    assert resumed["status"] == "finished"
    (event,) = Run(run.path).events("resume")
    assert event["exact"] is True, event
    assert_same_run(Run(whole["path"]), Run(run.path))


def test_several_stops(tmp_path: Path) -> None:
    settings = {**TINY, "env": "CartPole-v1", **NORMALISED, "recurrent": "gru", "hidden_size": 8}
    whole = processes.train(**settings, runs=str(tmp_path / "whole"))
    path = processes.train(**settings, runs=str(tmp_path / "parts"), stop_at=1)["path"]
    for stop_at in (64, 65, 100, 192):
        processes.train(resume=path, stop_at=stop_at)
    assert processes.train(resume=path)["status"] == "finished"
    assert len(Run(path).events("resume")) == 5
    assert_same_run(Run(whole["path"]), Run(path))


def test_stops_within_one_process(tmp_path: Path) -> None:
    """From Python, without a new process; the environment is a function of the caller."""
    import own_envs

    settings = {**TINY, "callbacks": ["own_envs:Counting"]}
    whole = dressage.train(own_envs.leveled, **settings, runs=tmp_path / "whole")
    hook = own_envs.StopAt(100)
    run = dressage.train(own_envs.leveled, **settings, runs=tmp_path / "parts", hooks=[hook])
    run = dressage.train(own_envs.leveled, resume=run, trust=True)
    assert_same_run(whole, run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_run_cleanly(number: int, tmp_path: Path) -> None:
    """In an interpreter of its own, as a person starts it; then resumed by the next one."""
    settings = {**TINY, "env": "own_envs:Walk", "env_kwargs": {"sleep": 0.002}}
    whole = dressage.train(**settings, runs=tmp_path / "whole")
    parts = tmp_path / "parts"
    source = f"import dressage; dressage.train(**{settings!r}, runs={str(parts)!r})"
    child = subprocess.Popen([sys.executable, "-c", source], env=environment())
    wait_for(lambda: any(parts.glob("*/checkpoints/*/manifest.json")), child)
    time.sleep(0.2)
    child.send_signal(number)
    assert child.wait(240) == 0

    (path,) = parts.glob("own*")
    run = Run(path)
    assert run.status == "stopped"
    assert run.status_details()["reason"] == signal.Signals(number).name
    (end,) = run.events("end")
    assert end["outcome"] == signal.Signals(number).name
    assert 0 < end["env_steps"] < 256
    assert list(run.checkpoints())[-1] == end["env_steps"]

    source = f"import dressage; dressage.train(resume={str(path)!r}, trust=True)"
    subprocess.run([sys.executable, "-c", source], env=environment(), check=True)
    assert_same_run(whole, Run(path))


def test_stop_before_the_first_planned_checkpoint(tmp_path: Path) -> None:
    settings = {**TINY, "env": "CartPole-v1", "checkpoint_every": 200, "eval_every": 0}
    whole = processes.train(**settings, runs=str(tmp_path / "whole"))
    path = processes.train(**settings, runs=str(tmp_path / "parts"), stop_at=1)["path"]
    assert list(Run(path).checkpoints()) == [32]
    processes.train(resume=path)
    assert_same_run(Run(whole["path"]), Run(path))


def test_a_stop_asked_for_between_iterations_saves_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal may come after the loop looked whether to save, and before it looks again."""
    from dressage.core.trainer import Trainer

    save = Trainer.save

    def ask_late(self: Trainer, planned: bool = False, durable: bool = False) -> Path:
        path = save(self, planned, durable)
        if planned:
            monkeypatch.setattr(Trainer, "save", save)
            self._iterate()
            self.request_stop("SIGTERM")
        return path

    monkeypatch.setattr(Trainer, "save", ask_late)
    run = dressage.train("CartPole-v1", **TINY, runs=tmp_path)
    assert run.status == "stopped"
    assert list(run.checkpoints())[-1] == run.events("end")[0]["env_steps"]


@pytest.mark.parametrize("killed_at", ["writer", "checkpoint"])
def test_a_run_killed_right_at_the_start(killed_at: str, tmp_path: Path) -> None:
    settings = {**TINY, "env": "CartPole-v1"}
    whole = processes.train(**settings, runs=str(tmp_path / "whole"))
    where = {"writer": "config.json", "checkpoint": "optimizer.safetensors"}[killed_at]
    child = processes.Process(
        {**settings, "runs": str(tmp_path / "parts")}, die={"after_writing": where}
    )
    assert child.wait() == {}
    (path,) = (tmp_path / "parts").glob("cartpole*")
    run = Run(path)
    assert run.status == "crashed"
    assert not run.checkpoints()
    for call in range(1, 40, 4):  # the second try is killed, too, as often as you like
        killed = processes.Process({"resume": str(path)}, die={"at_call": call})
        assert killed.wait() == {}
        assert run.metrics()["env_steps"].size == 0
        assert run.events()[0]["kind"] == "begin"
    assert processes.train(resume=str(path))["status"] == "finished"
    assert_same_run(Run(whole["path"]), Run(path))


def test_a_run_that_lost_its_checkpoints_is_not_begun_anew(tmp_path: Path) -> None:
    import shutil

    run = dressage.train("CartPole-v1", **TINY, runs=tmp_path)
    (run.path / "status.json").unlink()
    shutil.rmtree(run.path / "checkpoints")
    before = documents(run.path)
    with pytest.raises(dressage.DressageError, match="no checkpoint"):
        dressage.train(resume=run)
    assert documents(run.path) == before


def test_a_finished_run(tmp_path: Path) -> None:
    run = dressage.train("CartPole-v1", **TINY, runs=tmp_path)
    before = documents(run.path)
    for more in ({}, {"env_steps": 256}, {"env_steps": 100}, {"steps": 200}):
        with pytest.raises(dressage.DressageError, match=r"256 env steps.*env_steps="):
            dressage.train(resume=run, **more)
    assert documents(run.path) == before
    assert run.status == "finished"

    longer = dressage.train(resume=run, env_steps=320)
    (event,) = longer.events("resume")
    assert event["exact"] is False
    assert event["changed"] == {"env_steps": 320}
    assert longer.metrics()["env_steps"][-1] == 320
    assert longer.config["env_steps"] == 320
    with pytest.raises(dressage.DressageError, match=r"320 env steps.*env_steps="):
        dressage.train(resume=longer)


def test_a_longer_budget_survives_the_next_stop(tmp_path: Path) -> None:
    path = processes.train(**TINY, env="CartPole-v1", runs=str(tmp_path))["path"]
    processes.train(resume=path, env_steps=512, stop_at=300)
    assert processes.train(resume=path)["status"] == "finished"
    assert Run(path).metrics()["env_steps"][-1] == 512


def test_other_settings_on_resume(tmp_path: Path) -> None:
    hook = __import__("own_envs").StopAt(100)
    run = dressage.train("CartPole-v1", **TINY, runs=tmp_path, hooks=[hook])
    with pytest.raises(dressage.DressageError, match="net_arch cannot change"):
        dressage.train(resume=run, net_arch=[16])
    with pytest.raises(dressage.DressageError, match="learning_rate"):
        dressage.train(resume=run, learning_rat=0.1)
    assert run.status == "stopped"
    run = dressage.train(resume=run, lr=0.5)
    (event,) = run.events("resume")
    assert event["exact"] is False
    assert event["changed"] == {"learning_rate": 0.5}
    assert run.metrics()["train/hp/lr"][-1] == 0.5


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"env": "own_envs:Walk", "env_kwargs": {"noise": "global"}}, "same seed and actions"),
        ({"env": "own_envs:silently_leveled"}, "outlives an episode"),
    ],
)
def test_what_cannot_be_exact_is_declared(
    settings: dict[str, Any], why: str, tmp_path: Path
) -> None:
    path = processes.train(**{**TINY, **settings}, runs=str(tmp_path), stop_at=100)["path"]
    run = Run(path)
    assert run.spec["resume"]["exact"] is False
    assert why in run.spec["resume"]["reason"]
    (event,) = run.events("inexact")
    assert event["env_steps"] == 0
    assert why in event["reason"]
    assert "cannot be resumed exactly" in (run.path / "run.log").read_text()

    processes.train(resume=path, trust=True)
    run = Run(path)
    (event,) = run.events("resume")
    assert event["exact"] is False
    assert event["reasons"], "the resume says why"
    assert "not exactly" in (run.path / "run.log").read_text()
    assert run.status == "finished"


def test_dropping_any_part_of_a_checkpoint_is_noticed(tmp_path: Path) -> None:
    """What is saved matters: without it the resume fails or differs."""
    import shutil

    from dressage.runs.checkpoint import save_checkpoint

    settings = {**TINY, "env": "own_envs:leveled", **NORMALISED, "lr": 0.01}
    whole = dressage.train(**settings, runs=tmp_path / "whole")
    hook = __import__("own_envs").StopAt(140)
    stopped = dressage.train(**settings, runs=tmp_path / "parts", hooks=[hook])
    path = latest_checkpoint(stopped.path).path
    assert path is not None
    checkpoint = load_checkpoint(path)
    for part, names in {
        "optimizer": ["exp_avg", "exp_avg_sq"],
        "collector": ["episode_return", "normalizer/reward/discounted", "normalizer/reward/m2"],
        "memory": ["epochs"],
        "policy": ["normalizer/obs/mean"],
    }.items():
        for name in names:
            copy = tmp_path / "copy"
            shutil.copytree(stopped.path, copy)
            parts = {key: dict(arrays) for key, arrays in checkpoint.parts.items()}
            found = [key for key in parts[part] if name in key]
            assert found, f"{part} has no {name}, but {list(parts[part])}"
            for key in found:
                parts[part][key] = np.zeros_like(parts[part][key])
            save_checkpoint(copy, checkpoint.env_steps, parts, checkpoint.meta, checkpoint.offsets)
            run = dressage.train(resume=copy, trust=True)
            with pytest.raises(AssertionError):
                assert_same_run(whole, run)
            shutil.rmtree(copy)
    assert_same_run(whole, dressage.train(resume=stopped, trust=True))


def environment() -> dict[str, str]:
    processes.context()
    return dict(os.environ)


def wait_for(condition: Any, child: subprocess.Popen[bytes], seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert child.poll() is None, "the process ended before its time"
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_automatic_checkpoints(engine: str, tmp_path: Path) -> None:
    """A short run writes the last two of its grid and the best ones; a killed one begins again."""
    settings = {**TINY, "env": "CartPole-v1", "checkpoint_every": "auto", "engine": engine}
    settings |= {"env_steps": 640, "eval_every": 0, "final_eval_episodes": 0}
    whole = processes.train(**settings, runs=str(tmp_path / "whole"))
    assert list(Run(whole["path"]).checkpoints()) == [576, 640]

    stopped = processes.train(**settings, runs=str(tmp_path / "parts"), stop_at=300)
    assert list(Run(stopped["path"]).checkpoints()) == [320]
    assert processes.train(resume=stopped["path"])["status"] == "finished"
    assert_same_run(Run(whole["path"]), Run(stopped["path"]))

    orders = {**settings, "runs": str(tmp_path / "killed")}
    assert processes.Process(orders, die={"at_call": 60}).wait() == {}
    (killed,) = (tmp_path / "killed").glob("cartpole*")
    assert not Run(killed).checkpoints()
    assert processes.train(resume=str(killed))["status"] == "finished"
    assert_same_run(Run(whole["path"]), Run(killed))


def test_a_log_cut_by_a_power_failure_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    settings = {**TINY, "env": "CartPole-v1", "keep_checkpoints": 2}
    whole = processes.train(**settings, runs=str(tmp_path / "whole"))
    path = processes.train(**settings, runs=str(tmp_path / "parts"), stop_at=200)["path"]
    log = Path(path) / "metrics.csv"
    log.write_bytes(log.read_bytes()[:-40])
    assert processes.train(resume=path)["status"] == "finished"
    assert "shortened" in Run(path).events("resume")[0]["skipped"][0]
    assert_same_run(Run(whole["path"]), Run(path))
