"""Bad input gives one clear sentence; a run that had begun says why it failed, and is readable."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import own_envs
import pytest

import dressage
from dressage.errors import ConfigError, DressageError, EnvError, RunError, TrainingError
from dressage.runs.find import list_runs
from dressage.runs.run import Run

TINY: dict[str, Any] = {
    "n_envs": 2,
    "n_steps": 16,
    "batch_size": 16,
    "n_epochs": 1,
    "env_steps": 256,
    "net_arch": [8],
    "backend": "inline",
    "eval_every": 0,
    "final_eval_episodes": 0,
}
WALK = "own_envs:Walk"

REFUSED: list[tuple[dict[str, Any], type[DressageError], str]] = [
    ({"env": "CartPole-v9"}, EnvError, r"CartPole-v9.*Did you mean"),
    ({"env": "CartPol-v1"}, EnvError, r"no environment 'CartPol-v1'.*Did you mean 'CartPole"),
    ({"env": "nowhere:Env"}, EnvError, "nowhere"),
    ({"env": "own_envs:Wakl"}, EnvError, "Did you mean 'Walk'"),
    ({"env": "own_envs:np"}, EnvError, "expected a class or function"),
    ({"env": "json:dumps"}, EnvError, "failed"),
    ({"env": ""}, ConfigError, "No environment was named"),
    ({"env": None}, ConfigError, "No environment was named"),
    ({"algo": "pop"}, ConfigError, r"no algorithm 'pop'.*Did you mean 'ppo'"),
    ({"env": "CartPole-v1:pop"}, ConfigError, r"no algorithm 'pop'.*Did you mean 'ppo'"),
    ({"env": "own_envs:Walk:pop"}, ConfigError, r"no algorithm 'pop'"),
    ({"algo": "no.such.module"}, EnvError, "no.such"),
    ({"algo": "own_envs"}, ConfigError, "own_envs"),
    ({"learning_rat": 1e-3}, ConfigError, "Did you mean 'learning_rate'"),
    ({"nsteps": 8}, ConfigError, "Did you mean 'n_steps'"),
    ({"activation_fn": "relu"}, ConfigError, "SB3's activation_fn is here: activation"),
    ({"lr": "fast"}, ConfigError, "learning_rate"),
    ({"lr": "linear(1e-3"}, ConfigError, "learning_rate"),
    ({"lr": "linear(1e-3, 0, warmup=2)"}, ConfigError, "warmup"),
    ({"lr": "sinus(1, 0)"}, ConfigError, "sinus"),
    ({"lr": [1, 2]}, ConfigError, "learning_rate"),
    ({"lr": {"kind": "linear"}}, ConfigError, "learning_rate"),
    ({"lr": float("nan")}, ConfigError, "learning_rate"),
    ({"lr": -1.0}, ConfigError, "learning_rate"),
    ({"lr": 1e-3, "learning_rate": 1e-4}, ConfigError, "twice"),
    ({"gamma": 1.5}, ConfigError, "gamma"),
    ({"max_grad_norm": 0}, ConfigError, "max_grad_norm=0: is 0, expected above 0"),
    ({"max_grad_norm": "linear(1, 0)"}, ConfigError, "is 0 at 100% of the run, expected above 0"),
    ({"momentum": 1}, ConfigError, "momentum=1: is 1, expected at least 0 and below 1"),
    ({"momentum": "linear(0, 0.9)"}, ConfigError, "momentum.*begins at 0"),
    ({"weight_decay": "linear(0.1, -1)"}, ConfigError, "weight_decay.*expected at least 0"),
    ({"target_kl": "linear(0.1, -0.1)"}, ConfigError, "target_kl.*is 0 at 50% of the run"),
    ({"n_steps": "many"}, ConfigError, "n_steps='many'"),
    ({"n_steps": 0}, ConfigError, "n_steps=0"),
    ({"n_steps": 16.5}, ConfigError, "n_steps=16.5"),
    ({"env_steps": -5}, ConfigError, "env_steps=-5"),
    ({"env_steps": 0}, ConfigError, "env_steps=0"),
    ({"env_steps": "inf"}, ConfigError, "env_steps"),
    ({"n_envs": 0}, ConfigError, "n_envs"),
    ({"n_envs": -2}, ConfigError, "n_envs"),
    ({"seed": -1}, ConfigError, "seed=-1"),
    ({"seed": 2**64}, ConfigError, "seed="),
    ({"seeds": 0}, ConfigError, "seeds=0"),
    ({"log_every": 0}, ConfigError, "log_every"),
    ({"checkpoint_every": 0}, ConfigError, "checkpoint_every"),
    ({"checkpoint_every": -1}, ConfigError, "checkpoint_every"),
    ({"eval_every": -1}, ConfigError, "eval_every"),
    ({"threads": 0}, ConfigError, "threads=0"),
    ({"batch_size": 24}, ConfigError, r"24.*(16|32)"),
    ({"batch_size": 64}, ConfigError, r"64.*32"),
    ({"net_arch": "big"}, ConfigError, "net_arch"),
    ({"net_arch": [0]}, ConfigError, "net_arch"),
    ({"net_arch": [-4]}, ConfigError, "net_arch"),
    ({"net_arch": {"policy": [8]}}, ConfigError, "net_arch"),
    ({"activation": "swish"}, ConfigError, "activation"),
    ({"device": "gpu"}, ConfigError, "device"),
    ({"device": "cuda:7"}, ConfigError, "cuda"),
    ({"backend": "threads"}, ConfigError, "backend"),
    ({"backend": "vector"}, EnvError, "vector"),
    ({"wrappers": ["frame_stak:4"]}, EnvError, "Did you mean 'frame_stack'"),
    ({"wrappers": ["frame_stack:0"]}, EnvError, "frame_stack"),
    ({"wrappers": ["own_envs:Nothing"]}, EnvError, "Nothing"),
    ({"wrappers": ["atari"]}, EnvError, "ALE"),
    ({"wrappers": 7}, ConfigError, "wrappers"),
    ({"env_kwargs": {"wind": 3}}, EnvError, "wind"),
    ({"env_kwargs": "wind"}, ConfigError, "env_kwargs"),
    ({"callbacks": ["own_envs:Nothing"]}, EnvError, "Nothing"),
    ({"callbacks": ["own_envs:Walk"]}, ConfigError, "own_envs:Walk"),
    ({"callbacks": ["own_envs:StopAt"]}, ConfigError, "StopAt"),
    ({"net": "own_envs:nothing"}, EnvError, "nothing"),
    ({"net": "own_envs:Walk"}, DressageError, "net="),
    ({"trackers": ["tensorbord"]}, DressageError, "tensorboard"),
    ({"recurrent": "gru", "sequence_length": 7}, ConfigError, "sequence_length"),
    ({"env": "own_envs:Undrawable"}, EnvError, r"Sequence"),
    ({"env": WALK, "env_kwargs": {"fail": "reset"}}, EnvError, "the gate is locked"),
    ({"env": "CartPole-v1", "normalize_obs": "perhaps"}, ConfigError, "normalize_obs"),
]


def names(values: Any) -> str:
    return ",".join(f"{k}={v}" for k, v in values.items())[:50] if isinstance(values, dict) else ""


@pytest.mark.parametrize(("settings", "kind", "message"), REFUSED, ids=names)
def test_what_cannot_begin_is_refused_and_leaves_nothing(
    settings: dict[str, Any], kind: type[DressageError], message: str, tmp_path: Path
) -> None:
    given = {"env": "CartPole-v1", **TINY, **settings}
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        dressage.train(**given, runs=tmp_path)
    assert_plain(caught.value)
    assert list_runs(tmp_path) == [], "a run is left behind"
    assert not [path for path in tmp_path.iterdir() if path.is_dir()], "a folder is left behind"


def assert_plain(error: DressageError) -> None:
    """A person reads it first to last: a sentence, without pydantic's or Python's insides."""
    first = str(error).splitlines()[0]
    assert 20 < len(first) < 600, first
    for insides in ("pydantic", "Traceback", "validation error", "object at 0x", "<class"):
        assert insides not in first, first


FAILING: list[tuple[dict[str, Any], type[DressageError], str]] = [
    ({"env_kwargs": {"fail": "step"}}, EnvError, r"environment 0 raised RuntimeError in step\(\)"),
    ({"env_kwargs": {"fail": "nan_obs"}}, EnvError, "gave nan as observation, column 1"),
    ({"env_kwargs": {"fail": "inf_obs"}}, EnvError, "gave inf as observation, column 1"),
    ({"env_kwargs": {"fail": "nan_reward"}}, EnvError, "gave nan as reward"),
    ({"env_kwargs": {"fail": "inf_reward"}}, EnvError, "gave inf as reward"),
    ({"env_kwargs": {"fail": "text_reward"}}, EnvError, "environment 0"),
    ({"env_kwargs": {"fail": "shape"}}, EnvError, r"\(2,\).*\(3,\)"),
    ({"env_kwargs": {"fail": "none"}}, EnvError, "environment 0"),
    ({"env_kwargs": {"fail": "text"}}, EnvError, "environment 0"),
    ({"env_kwargs": {"fail": "dict"}}, EnvError, "environment 0"),
    ({"lr": 1e30, "env_kwargs": {}}, TrainingError, "learning rate"),
    ({"lr": 1e30, "optimizer": "sgd", "max_grad_norm": 1e30}, TrainingError, "learning rate"),
]


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(("settings", "kind", "message"), FAILING, ids=names)
def test_what_fails_in_mid_run_says_why_in_the_run(
    settings: dict[str, Any],
    kind: type[DressageError],
    message: str,
    normalised: bool,
    tmp_path: Path,
) -> None:
    """The probe of determinism makes at most 180 steps an instance; the failure comes later."""
    kwargs = {"fail_at": 200, **settings.get("env_kwargs", {})}
    given = {**TINY, "env": WALK, **settings, "env_kwargs": kwargs, "checkpoint_every": 32}
    given |= {"env_steps": 640, "normalize_obs": normalised, "normalize_reward": normalised}
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        dressage.train(**given, runs=tmp_path)
    assert_plain(caught.value)
    (run,) = list_runs(tmp_path)
    assert isinstance(run, Run)
    assert run.status == "failed"
    assert run.status_details()["reason"] == str(caught.value)
    (event,) = run.events("failure")
    assert event["reason"] == str(caught.value)
    assert str(caught.value).splitlines()[0] in (run.path / "run.log").read_text()
    run.metrics()
    assert run.checkpoints()
    policy = dressage.load(run, trust=True)
    action, _ = policy.predict([0.0, 0.0, 0.0])
    assert action in (0, 1)


def test_off_policy_settings_that_do_not_go_with_the_task(tmp_path: Path) -> None:
    for settings, message in (
        ({"her": "future"}, "her needs 'achieved_goal' in the observation, which has"),
        ({"exploration_fraction": 0.1}, "one setting here: epsilon='linear"),
        ({"n_steps": 3}, "SB3's n_steps is here: n_step"),
    ):
        with pytest.raises(DressageError, match=message):
            dressage.train("CartPole-v1", algo="dqn", env_steps=64, runs=tmp_path, **settings)
    assert list_runs(tmp_path) == []


def test_a_worker_that_dies_is_a_sentence(tmp_path: Path) -> None:
    kwargs = {"fail": "exit", "fail_at": 40, "spared_pid": os.getpid()}
    given = {**TINY, "backend": "process", "env": WALK, "env_kwargs": kwargs}
    with pytest.raises(EnvError, match="worker"):
        dressage.train(**given, runs=tmp_path)
    (run,) = list_runs(tmp_path)
    assert run.status == "failed"


def test_a_callback_that_raises_fails_the_run(tmp_path: Path) -> None:
    """Not ours to put into a sentence: the person sees their own traceback, the run its reason."""
    with pytest.raises(ValueError, match="my callback broke"):
        dressage.train("CartPole-v1", **TINY, runs=tmp_path, hooks=[own_envs.RaisesAt(100)])
    (run,) = list_runs(tmp_path)
    assert run.status_details()["reason"] == "ValueError: my callback broke"
    assert run.status == "failed"
    resumed = dressage.train(resume=run)
    assert resumed.status == "finished"


def test_a_group_of_a_function_of_the_main_script(tmp_path: Path) -> None:
    def main_env() -> Any:
        return own_envs.Walk()

    for module, name in (("__main__", "main_env"), (__name__, "test.<locals>.main_env")):
        main_env.__module__, main_env.__qualname__ = module, name
        with pytest.raises(ConfigError, match="module"):
            dressage.train(main_env, **TINY, seeds=2, runs=tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lr: [", "not YAML"),
        ("just words", "holds no settings"),
        ("- a\n- b", "holds no settings"),
        ("1: 2", "holds no settings"),
        ("learning_rat: 1", "Did you mean"),
        ("lr: !!python/object/apply:os.system ['touch owned']", "not YAML"),
        (b"\xff\xfe\x00", "cannot be read|not YAML"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "no setting"),
    ],
)
def test_config_files(
    content: str | bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=message):
        dressage.train("CartPole-v1", config=file, runs=tmp_path / "runs")
    with pytest.raises(ConfigError, match="cannot be read"):
        dressage.train("CartPole-v1", config=tmp_path / "absent.yaml")
    assert not (tmp_path / "owned").exists()


def test_runs_that_are_not_there(tmp_path: Path) -> None:
    for call in (
        lambda: dressage.train(resume="nothing", runs=tmp_path),
        lambda: dressage.load("@last", runs=tmp_path),
        lambda: dressage.evaluate("nothing@best", runs=tmp_path),
        lambda: dressage.api.report("nothing", runs=tmp_path),
        lambda: dressage.play("", runs=tmp_path),
        lambda: dressage.load("a\0b", runs=tmp_path),
        lambda: dressage.load("../" * 40 + "etc", runs=tmp_path),
    ):
        with pytest.raises(RunError):
            call()


def test_policies_refuse_what_is_not_an_observation(tmp_path: Path) -> None:
    run = dressage.train("CartPole-v1", **TINY, runs=tmp_path)
    policy = dressage.load(run)
    for wrong in ([1.0, 2.0], None, "north", {"a": 1}, [[0.0] * 4] * 2):
        with pytest.raises(EnvError):
            policy.predict(wrong)
    with pytest.raises(EnvError, match=r"look like 2: use predict_batch\(observations\)"):
        policy.predict([[0.0] * 4] * 2)
    with pytest.raises(DressageError, match="no checkpoint '7'"):
        dressage.load(f"{run.path}@7")
    with pytest.raises(DressageError, match="episodes"):
        dressage.evaluate(run, episodes=0)
    assert json.loads((run.path / "status.json").read_text())["state"] == "finished"


class NeverOver(own_envs.Walk):
    """Says game_over=False, for reasons of its own, also where an episode ends."""

    def step(self, action: int) -> Any:
        return *super().step(action)[:4], {"game_over": False}


def test_an_episode_that_ends_without_game_over_is_counted(tmp_path: Path) -> None:
    """As when an Atari game ends within the reset after a lost life: once an endless evaluation."""
    run = dressage.train(
        NeverOver, **TINY | {"eval_every": 64, "final_eval_episodes": 5}, runs=tmp_path
    )
    assert run.metrics()["val/roll/episodes"][-1] == 5
    assert len(run.episodes()["return"]) >= 8
