"""Runs of SB3 trained again by SB3: settings out of its files, and back into it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import dressage
from dressage import proving
from dressage.errors import ConfigError, RunError
from dressage.prove import sb3
from dressage.prove.optimize import Candidate, Diagnosed, Optimization, Round, Trial
from dressage.proving import optimize_run, seeds_of, verify_run
from dressage.runs.readers import read
from dressage.runs.view import RunView, Series

PPO = {
    "algo": "PPO",
    "env": "CartPole-v1",
    "n_envs": 2,
    "env_steps": 512,
    "arguments": {
        "n_steps": 32,
        "batch_size": 32,
        "n_epochs": 2,
        "ent_coef": 0.5,
        "learning_rate": [1e-3, 0.0],
        "policy_kwargs": {"net_arch": [16, 16], "activation_fn": "ReLU"},
    },
    "normalize": None,
    "recorded": {"env": "CartPole-v1"},  # nothing else: the model's zip and the log must do
    "seeds": [3],
}
TD3 = {
    "algo": "TD3",
    "env": "Pendulum-v1",
    "n_envs": 1,
    "env_steps": 300,
    "arguments": {
        "learning_starts": 100,
        "train_freq": 4,
        "gradient_steps": 1,
        "batch_size": 16,
        "learning_rate": 5e-4,
        "action_noise": 0.25,
        "policy_kwargs": {"net_arch": [16]},
    },
    "normalize": None,
    "recorded": {"env": "Pendulum-v1"},
    "seeds": [0],
}


def trained(job: dict[str, object], folder: Path) -> RunView:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "job.json"
    path.write_text(json.dumps(job | {"folder": str(folder)}))
    subprocess.run([sys.executable, str(sb3.PROGRAM), str(path)], check=True, cwd=folder)
    return read(next(folder.glob("seed-*")))[0]


@pytest.fixture(scope="module")
def ppo(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return trained(PPO, tmp_path_factory.mktemp("ppo"))


def test_settings_come_out_of_the_zip_and_the_log_and_go_back(ppo: RunView, tmp_path: Path) -> None:
    found = sb3.settings_of(ppo)
    assert found["ent_coef"] == 0.5 and found["n_steps"] == 32 and found["n_envs"] == 2
    assert found["net_arch"] == [16, 16] and found["activation"] == "relu"
    assert found["learning_rate"] == "linear(0.001, 0)"  # a function in the zip, seen in the log
    again = seeds_of(tmp_path, found, ppo, range(7, 9), dressage.train)
    assert [view.seed for view in again] == [7, 8]
    assert all(sb3.settings_of(view) == found for view in again)
    made = (tmp_path / "seed-7" / "model.zip").stat().st_mtime_ns
    seeds_of(tmp_path, found, ppo, range(7, 9), dressage.train)
    assert (tmp_path / "seed-7" / "model.zip").stat().st_mtime_ns == made  # not trained again


def test_how_often_it_trains_and_its_noise_are_found(tmp_path: Path) -> None:
    found = sb3.settings_of(trained(TD3, tmp_path))
    assert found["train_freq"] == 4 and found["noise_std"] == 0.25
    assert found["learning_rate"] == 5e-4 and found["net_arch"] == [16]


def test_the_same_seed_gives_the_same_run(
    ppo: RunView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a relative folder of runs is one of this process
    again = sb3.seeds_of(Path("below"), sb3.settings_of(ppo), ppo, range(3, 4))[0]
    name = "train/roll/ep_rew_mean"
    np.testing.assert_allclose(again.series[name].values, ppo.series[name].values)


def test_patches_are_taken_in_their_words_and_in_ours(ppo: RunView) -> None:
    settings = sb3.settings_of(ppo)
    assert sb3.checked(ppo, settings, {"ent_coef": 0.0}) == {"ent_coef": 0.0}
    assert sb3.checked(ppo, settings, {"policy_kwargs/net_arch": [8]}) == {"net_arch": [8]}
    with pytest.raises(ConfigError, match="'tau' is no setting"):
        sb3.checked(ppo, settings, {"tau": 0.1})
    with pytest.raises(ConfigError, match="changes nothing"):
        sb3.checked(ppo, settings, {"ent_coef": 0.5})
    with pytest.raises(ConfigError, match="SB3 is given one of"):
        sb3.checked(ppo, settings, {"activation": "mish"})


def like(algo: str, env: str, **config: object) -> RunView:
    return RunView(
        Path("x"), "x", "sb3", algo, env, {"learning_rate": 1e-3, **config}, env_steps=1000.0
    )


def test_an_error_names_only_what_the_algorithm_has() -> None:
    run = like("dqn", "CartPole-v1")
    with pytest.raises(ConfigError) as said:
        sb3.checked(run, sb3.settings_of(run), {"clip_range": 0.2})
    assert "epsilon" in str(said.value) and "max_grad_norm" in str(said.value)
    assert not {"log_std_init", "noise_std", "ortho_init"} & set(
        str(said.value).strip(".").replace(",", "").split()
    )
    run = like("sac", "Pendulum-v1")
    with pytest.raises(ConfigError, match="'max_grad_norm' is no setting that SB3's SAC") as said:
        sb3.checked(run, sb3.settings_of(run), {"max_grad_norm": 0.5})
    assert "noise_std" in str(said.value) and "epsilon" not in str(said.value)


def test_what_is_prescribed_need_not_be_named_by_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = like("dqn", "CartPole-v1")
    settings = sb3.settings_of(run)
    assert "gamma" not in settings
    patches = [{"gamma": 0.98, "env_steps": 9}, {"epsilon": "cosine(1, 0.1)"}, {"env_steps": 9}]
    asked = [SimpleNamespace(cause=f"c{i}", ours=patch) for i, patch in enumerate(patches)]
    found = SimpleNamespace(verdict="faulty", causes=[], prescriptions=asked)
    monkeypatch.setattr(proving, "diagnose_seeds", lambda views: found)
    said: list[str] = []
    made = proving.diagnosed([run], settings, said.append)
    assert [one.patch for one in made.asked] == [{"gamma": 0.98}]
    assert any("left out, for c1: epsilon=cosine" in line for line in said)


def test_epsilon_and_noise_are_taken_in_their_words() -> None:
    run = like("dqn", "CartPole-v1", epsilon=0.0)
    run.own_config = {"exploration_initial_eps": 0.0, "exploration_fraction": 0.1}
    settings = sb3.settings_of(run)
    patch = {"exploration_initial_eps": 1, "exploration_final_eps": 0.05}
    assert sb3.checked(run, settings, patch) == {"epsilon": "linear(1, 0.05, until=0.1)"}
    run = like("td3", "Pendulum-v1", noise_std=0.0)
    settings = sb3.settings_of(run)
    assert sb3.checked(run, settings, {"action_noise": "normal"}) == {"noise_std": 0.1}
    both = {"action_noise": "normal", "noise_std": 0.3}
    assert sb3.checked(run, settings, both) == {"noise_std": 0.3}
    assert sb3.job_of(run, settings | {"noise_std": 0.3})["arguments"]["action_noise"] == 0.3
    with pytest.raises(ConfigError, match="action_noise=ou"):
        sb3.checked(run, settings, {"action_noise": "ou"})


def test_networks_and_optimizers_are_told_as_sb3_has_them() -> None:
    run = like("td3", "Pendulum-v1", net_arch={"policy": [8], "value": [4]}, n_step=3)
    given = sb3.job_of(run, sb3.settings_of(run))["arguments"]
    assert given["policy_kwargs"] == {"net_arch": {"pi": [8], "qf": [4]}} and given["n_steps"] == 3
    run = like("a2c", "CartPole-v1", optimizer="sgd", optimizer_eps=1e-5, weight_decay=0.1)
    given = sb3.job_of(run, sb3.settings_of(run))["arguments"]["policy_kwargs"]
    assert given == {"optimizer_class": "SGD", "optimizer_kwargs": {"weight_decay": 0.1}}


def test_it_is_said_that_wrappers_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Enough(Exception):
        pass

    def stop(*args: object, **given: object) -> None:
        raise Enough

    monkeypatch.setattr("dressage.proving.verify", stop)
    monkeypatch.setattr("dressage.proving.optimize", stop)
    said: list[str] = []
    rest = {"train": dressage.train, "say": said.append, "threshold": None}
    run = like("ppo", "CartPole-v1")
    with pytest.raises(Enough):
        verify_run(run, {"gamma": 0.9}, tmp_path, **rest)
    with pytest.raises(Enough):
        optimize_run(run, tmp_path, minutes=1.0, goal="frames", **rest)
    assert said == [sb3.made_by_id(run)] * 2 and "CartPole-v1: wrappers" in said[0]


def test_the_result_is_a_plain_file_in_their_words(ppo: RunView) -> None:
    told = sb3.as_config(ppo, sb3.settings_of(ppo) | {"ent_coef": 0.0})
    again = yaml.safe_load(yaml.safe_dump(told))
    assert again["ent_coef"] == 0.0 and again["learning_rate"] == "linear(0.001, 0)"
    assert again["policy_kwargs"] == {
        "net_arch": [16, 16],
        "activation_fn": "ReLU",
        "optimizer_class": "Adam",
        "optimizer_kwargs": {"eps": 1e-5, "weight_decay": 0.0},
    }
    assert again["n_timesteps"] == 512 and again["algo"] == "ppo"


def test_an_optimization_is_reported_in_their_words(
    ppo: RunView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Candidate({"activation": "tanh"}, ("dead-units",))
    one = Round(Diagnosed("faulty", [], [asked]), [Trial(None, 2, -900.0), Trial(asked, 2, -450.0)])
    made = Optimization("frames", [one], asked.patch)
    monkeypatch.setattr("dressage.proving.optimize", lambda *args, **given: made)
    report = dressage.optimize(ppo.path, runs=tmp_path)
    assert report.config == next(tmp_path.glob("optimize-*")) / "optimized.yaml"
    assert yaml.safe_load(report.config.read_text())["policy_kwargs"]["activation_fn"] == "Tanh"
    before, after = report.changes["policy_kwargs"]
    assert (before["activation_fn"], after["activation_fn"]) == ("ReLU", "Tanh")
    text = (report.config.parent / "report.md").read_text()
    assert "activation=" not in text and "policy\\_kwargs=" in text and "dressage train" not in text
    assert (report.config.parent / "report.html").is_file() and report.command is None


def test_what_cannot_be_trained_again_says_why(ppo: RunView, tmp_path: Path) -> None:
    bare = RunView(Path("x"), "x", "sb3", "ppo")
    with pytest.raises(ConfigError, match="does not say its environment"):
        sb3.settings_of(bare)
    bare.env = "CartPole-v1"
    with pytest.raises(ConfigError, match="nothing of its learning rate"):
        sb3.settings_of(bare)
    with pytest.raises(ConfigError, match="SB3 can train PPO"):
        sb3.settings_of(RunView(Path("x"), "x", "sb3", "tqc", "CartPole-v1"))
    ppo_like = RunView(Path("x"), "x", "sb3", "ppo", "NoSuchEnv-v0")
    with pytest.raises(RunError, match="NoSuchEnv"):
        sb3.seeds_of(tmp_path, sb3.settings_of(ppo), ppo_like, range(2))


def test_a_missing_sb3_is_named(ppo: RunView, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(sb3.PYTHON, "/bin/false")
    with pytest.raises(ConfigError, match="pip install 'dressage\\[sb3\\]'"):
        sb3.seeds_of(tmp_path, sb3.settings_of(ppo), ppo, range(2))


@pytest.mark.parametrize(
    ("series", "wanted"),
    [([3e-4, 3e-4, 3e-4], 3e-4), ([1e-3, 5.5e-4, 1e-4], "linear(0.001, 0.0001)")],
)
def test_a_rate_is_read_off_the_log(series: list[float], wanted: object) -> None:
    steps = np.array([0.0, 500.0, 1000.0])
    view = RunView(
        Path("x"), "x", "sb3", "sac", "Pendulum-v1", {"env_steps": 1000},
        series={"train/hp/lr": Series(steps, np.array(series))}, env_steps=1000.0,
    )  # fmt: skip
    assert sb3.settings_of(view)["learning_rate"] == wanted
