"""What is prescribed for a run of SB3 can be pasted into its script, and verified as printed."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stable_baselines3 as library
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecNormalize

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.diagnose import Diagnosis
from dressage.diagnosis.prescriptions import Prescription, prescribe, tuned
from dressage.diagnosis.prescriptions.own_words import tellable
from dressage.diagnosis.report.recommendations import patch_text, recommendations
from dressage.presets.resolve import from_text
from dressage.prove import sb3
from dressage.prove.sb3_program import made
from dressage.reporting.document import Code, Table
from dressage.runs.readers.sb3_arguments import ARGUMENTS, POLICY_ARGUMENTS
from dressage.runs.view import RunView, Series

ENVS = {
    "ppo": "CartPole-v1", "a2c": "CartPole-v1", "dqn": "CartPole-v1", "sac": "Pendulum-v1",
    "td3": "Pendulum-v1", "ddpg": "Pendulum-v1",
}  # fmt: skip
OF_LEARN_AND_MAKE = {"total_timesteps", "n_envs"}
NO_SETTINGS = {"policy", "env", "tensorboard_log", "verbose", "device", "_init_setup_model"}
# Of every kind of fault a little, so that most causes have something to change.
CONFIG = {
    "learning_rate": 0.05, "n_envs": 1, "batch_size": 48, "gamma": 0.3, "ent_coef": 0.5,
    "optimizer": "sgd", "optimizer_eps": 0.1, "weight_decay": 0.3, "net_arch": [2],
    "activation": "sigmoid", "train_freq": 16, "gradient_steps": 64, "buffer_size": 100,
    "env_steps": 50_000,
}  # fmt: skip


def algorithm(algo: str) -> Any:
    return getattr(library, sb3.ALGORITHMS[algo])


def view(algo: str, **changes: Any) -> RunView:
    config = CONFIG | ({"n_steps": 65} if algo in ("ppo", "a2c") else {}) | changes
    spec = {"action_space": "Box([-2.], [2.], (1,), float32)"}
    rate = Series(np.array([1e3, 5e4]), np.array([0.05, 0.05]))
    return RunView(
        Path("logs/x"), "x", "sb3", algo, ENVS[algo], config, spec=spec, budget=50_000.0,
        series={"train/hp/lr": rate}, env_steps=50_000.0,
    )  # fmt: skip


def asked_of(run: RunView) -> Iterator[Prescription]:
    for cause in CAUSES.values():
        if run.family in cause.families:
            yield prescribe(cause.id, run, [], "high")
    if preset := tuned(run):
        yield preset


@pytest.mark.parametrize("algo", ENVS)
def test_the_tables_are_those_of_sb3(algo: str) -> None:
    parameters = set(inspect.signature(algorithm(algo)).parameters) - NO_SETTINGS
    assert set(ARGUMENTS[algo]) == parameters
    policy = algorithm(algo).policy_aliases["MlpPolicy"]
    assert set(POLICY_ARGUMENTS[algo]) <= set(inspect.signature(policy).parameters)


@pytest.mark.parametrize("algo", ENVS)
def test_every_patch_is_python_that_sb3_takes(algo: str) -> None:
    kind, env = algorithm(algo), make_vec_env(ENVS[algo])
    words = {
        "np": np, "torch": torch, "env": env, "VecNormalize": VecNormalize,
        "NormalActionNoise": NormalActionNoise, "LinearSchedule": LinearSchedule,
    }  # fmt: skip
    run = view(algo)
    tried: dict[str, str] = {}
    for asked in asked_of(run):
        assert not any(isinstance(value, dict) for value in asked.patch.values()), asked.cause
        unknown = asked.patch.keys() - inspect.signature(kind).parameters - OF_LEARN_AND_MAKE
        assert not unknown, f"{asked.cause}: {unknown}"
        tried.setdefault(repr(asked.patch), asked.cause)
        if tried[repr(asked.patch)] != asked.cause or not asked.patch:
            continue
        given = {
            name: eval(patch_text({name: value}).removeprefix(f"{name}="), words)
            if value != "auto"
            else value
            for name, value in asked.patch.items()
            if name not in OF_LEARN_AND_MAKE
        }
        if algo in ("dqn", "sac", "td3", "ddpg"):
            given = {"buffer_size": 100} | given
        kind("MlpPolicy", **({"env": env} | given))
    assert len(tried) > 10


@pytest.mark.parametrize("algo", ENVS)
def test_every_command_that_is_printed_can_be_run(algo: str) -> None:
    run, printed = view(algo), 0
    kind, env = algorithm(algo), make_vec_env(ENVS[algo])
    settings = sb3.settings_of(run)
    for asked in asked_of(run):
        for command in commands(asked, run):
            _, word, name, *rest = shlex.split(command)
            assert (word, name) == ("verify", "logs/x")
            assert set(rest[::2]) == {"--patch"}
            patch = {key: from_text(v) for key, _, v in (w.partition("=") for w in rest[1::2])}
            clean = sb3.checked(run, settings, patch)
            assert clean.keys() == patch.keys(), asked.cause
            given = sb3.job_of(run, settings | clean)["arguments"]
            if "buffer_size" in given:
                given["buffer_size"] = 100
            kind("MlpPolicy", env, **made(given, env.action_space.shape))
            assert asked.cause == "preset" or CAUSES[asked.cause].place == "settings"
            printed += 1
    assert printed > 10


def commands(asked: Prescription, run: RunView) -> list[str]:
    """Those that the report names for a prescription."""
    found = Diagnosis("x", "sb3", run.algo, run.env, "faulty", [], [], [asked], [], [])
    tables = [block for block in recommendations(found, run) if isinstance(block, Table)]
    cells = [cell for table in tables for row in table.rows for cell in row]
    words = [word for cell in cells if isinstance(cell, tuple) for word in cell]
    return [word for word in words if isinstance(word, Code) and word.startswith("dressage verify")]


def test_what_sb3_has_no_argument_for_is_said_in_words() -> None:
    clip = prescribe("grad-clip-missing", view("sac", optimizer="adam"), [], "high")
    assert not clip.patch and not clip.ours and "SB3's SAC has no argument" in clip.advice
    clip = prescribe("grad-clip-missing", view("ppo", optimizer="adam"), [], "high")
    assert clip.patch == {"max_grad_norm": 0.5} and "no argument" not in clip.advice
    diverged = prescribe("q-divergence", view("dqn"), [], "high")
    assert set(diverged.patch) == {"learning_rate"} and "SB3's DQN" in diverged.advice
    assert "RecurrentPPO" in prescribe("partial-observability", view("ppo"), [], "high").advice


def test_noise_is_told_with_its_shape() -> None:
    run = view("td3")
    asked = prescribe("no-action-noise", run, [], "high")
    text = "NormalActionNoise(mean=np.zeros(1), sigma=0.1 * np.ones(1))"
    assert asked.patch == {"action_noise": text} and asked.ours == {"noise_std": 0.1}
    run.spec = {}
    text = prescribe("no-action-noise", run, [], "high").patch["action_noise"]
    assert text.startswith("NormalActionNoise(mean=np.zeros(env.action_space.shape), sigma=0.1 *")


def test_a_fault_of_the_environment_is_not_verified_on_another_one() -> None:
    run = view("sac")
    assert commands(prescribe("lr-too-high", run, [], "high"), run)
    scaled = prescribe("reward-scale-too-large", run, [], "high")
    assert scaled.patch["env"].startswith("VecNormalize(env, norm_obs=False, norm_reward=True")
    assert not commands(scaled, run)


def test_no_command_where_sb3_is_not_trained_again() -> None:
    run = view("sac")
    asked = prescribe("lr-too-high", run, [], "high")
    run.algo = "tqc"
    assert not commands(asked, run)
    run.algo, run.series = "sac", {}
    del run.config["learning_rate"]
    assert not commands(asked, run)


def test_a_command_says_that_the_budget_stays() -> None:
    run = view("ppo", env_steps=8_000)
    run.budget = 8_000.0
    preset = tuned(run)
    assert preset is not None and "env_steps" in preset.ours
    (command,) = commands(preset, run)
    assert "env_steps" not in command
    found = Diagnosis("x", "sb3", "ppo", run.env, "faulty", [], [], [preset], [], [])
    assert "the run's own budget of 8,000 env steps" in str(recommendations(found, run))


def test_of_an_unknown_algorithm_nothing_of_ours_alone_is_told() -> None:
    run = RunView(Path("x"), "x", "sb3")
    assert tellable(run, {"bonus": "rnd", "gamma": 0.9}) == ({"gamma": 0.9}, "")
