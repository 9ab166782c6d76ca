"""Every cause has a fix, and every patch can be followed."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.prescriptions import FIXES, prescribe, tuned
from dressage.diagnosis.prescriptions.own_words import OURS_ALONE, own_words, tellable
from dressage.diagnosis.prescriptions.valid import RANGES, valid
from dressage.diagnosis.record import Verified
from dressage.presets.resolve import resolve
from dressage.runs.metrics import describe
from dressage.runs.view import RunView, Series

STEPS = np.linspace(1000, 50_000, 50)
ENVS = {"ppo": "CartPole-v1", "a2c": "CartPole-v1", "dqn": "CartPole-v1", "sac": "Pendulum-v1"}
ENVS |= {"td3": "Pendulum-v1", "ddpg": "Pendulum-v1"}


def view(algo: str, **changes: Any) -> RunView:
    config = resolve(ENVS[algo], algo).values() | changes
    series = {"train/roll/ep_len_mean": Series(STEPS, np.full(50, 120.0))}
    return RunView(
        Path("x"), "x", "dressage", algo, ENVS[algo], config, series=series, budget=50_000.0
    )


def test_every_cause_has_a_fix_that_names_metrics_of_the_dictionary() -> None:
    assert set(FIXES) == set(CAUSES)
    for cause, fix in FIXES.items():
        assert fix.advice.endswith("."), cause
        if fix.watch:
            describe(fix.watch)
        if CAUSES[cause].place == "settings" and CAUSES[cause].families != ("offline",):
            told = ("imitation", "multi-agent", "offline")
            assert fix.make is not None or CAUSES[cause].families[0] in told, cause


@pytest.mark.parametrize("algo", ENVS)
def test_every_patch_passes_the_schema_of_its_algorithm(algo: str) -> None:
    run = view(algo)
    tried = 0
    for cause in CAUSES.values():
        if run.family not in cause.families:
            continue
        patch = prescribe(cause.id, run, [], "high").ours
        known = {k: v for k, v in patch.items() if k in run.config}
        resolve(ENVS[algo], algo, known)
        tried += bool(known)
    assert tried >= 10


@pytest.mark.parametrize(
    ("cause", "algo", "changes", "patch"),
    [
        ("lr-too-high", "ppo", {"learning_rate": 0.05}, {"learning_rate": 1e-3}),
        ("lr-too-high", "ppo", {"learning_rate": 6e-4}, {"learning_rate": 2e-4}),
        ("lr-too-low", "ppo", {"learning_rate": 1e-6}, {"learning_rate": 1e-3}),
        ("lr-too-low", "dqn", {"learning_rate": 4e-4}, {"learning_rate": 1e-3}),
        ("too-many-epochs", "ppo", {"n_epochs": 100}, {"n_epochs": 10}),
        ("gamma-too-low", "ppo", {"gamma": 0.3}, {"gamma": 0.99}),
        ("learning-never-starts", "dqn", {"learning_starts": 60_000}, {"learning_starts": 1000}),
        ("entropy-bonus-too-high", "ppo", {"ent_coef": 0.5}, {"ent_coef": 0.01}),
        (
            "grad-clip-missing",
            "a2c",
            {"max_grad_norm": 1e9, "optimizer": "sgd", "learning_rate": 0.01},
            {"max_grad_norm": 0.5, "optimizer": "adam", "learning_rate": 1e-3},
        ),
        (
            "reward-scale-too-small",
            "sac",
            {"ent_coef": 0.2},
            {"normalize_reward": True, "ent_coef": "auto"},
        ),
        (
            "batch-not-dividing-rollout",
            "ppo",
            {"n_steps": 65, "n_envs": 1, "batch_size": 64},
            {"batch_size": 65},
        ),
        (
            "rollout-too-long",
            "ppo",
            {"n_steps": 2048, "n_envs": 16, "batch_size": 2048},
            {"n_steps": 32, "batch_size": 128},
        ),
        ("value-clip-too-tight", "ppo", {"clip_range_vf": 0.001}, {"clip_range_vf": None}),
        ("updates-too-few", "sac", {"train_freq": 8, "gradient_steps": 1}, {"train_freq": 1}),
    ],
)
def test_patches_by_hand(cause: str, algo: str, changes: Any, patch: Any) -> None:
    assert prescribe(cause, view(algo, **changes), [], "high").ours == patch


@pytest.mark.parametrize(
    ("metric", "value", "scaled"),
    [
        ("train/roll/return_std", 400.0, True),
        ("train/roll/return_std", 7.0, False),
        ("train/loss/value", 1e5, True),  # all that other libraries log of it
        ("train/loss/value", 50.0, False),
    ],
)
def test_rewards_are_brought_to_scale_where_values_are_large(
    metric: str, value: float, scaled: bool
) -> None:
    run = view("ppo", normalize_advantage="off")
    run.series[metric] = Series(STEPS, np.full(50, value))
    patch = prescribe("advantage-normalisation", run, [], "high").ours
    assert patch == {"normalize_advantage": "minibatch"} | (
        {"normalize_reward": True} if scaled else {}
    )


def test_a_patch_that_changes_nothing_is_not_shown() -> None:
    assert prescribe("clip-range-too-wide", view("ppo", clip_range=0.2), [], "high").ours == {}


def test_a_batch_is_made_to_divide_the_rollout() -> None:
    run = view("ppo", n_steps=100, n_envs=3, batch_size=50)
    assert valid(run, {"batch_size": 64}) == {"batch_size": 60}


@pytest.mark.parametrize("name", RANGES)
def test_what_lies_outside_its_range_is_not_prescribed(name: str) -> None:
    assert valid(view("ppo"), {name: -1.0}) == {}


def test_a_run_without_a_config_still_gets_advice() -> None:
    bare = RunView(Path("x"), "x", "table", "ppo")
    for cause in CAUSES:
        made = prescribe(cause, bare, [], "high")
        assert made.advice and made.verify


def test_the_preset_is_named_where_it_was_earned_and_differs() -> None:
    run = view("ppo", learning_rate=0.05)
    found = tuned(run)
    assert found is not None and found.ours == {"learning_rate": "linear(1e-3, 0)"}
    assert "500" in found.rationale
    assert tuned(view("ppo")) is None
    earned = {"train/roll/ep_rew_mean": Series(STEPS, np.full(50, 500.0))}
    run = dataclasses.replace(run, series=earned)
    assert tuned(run) is not None  # as good as the preset, and perhaps later
    earned = {"train/roll/ep_rew_mean": Series(STEPS, np.full(50, 900.0))}
    run = dataclasses.replace(run, series=earned)
    assert tuned(run) is None
    run.env = "Nowhere-v0"
    assert tuned(run) is None


def test_measured_effects_take_the_place_of_guesses() -> None:
    told = {"library": "dressage", "patch": {}, "goal": "frames", "seeds": 8, "p": 0.01}
    rest = {"final": (1.0, 0.0, 2.0), "env_steps": 1e5, "seconds": 1.0, "verdict": "proven"}
    done = Verified(
        env="CartPole-v1", algo="ppo", cause="lr-too-high", steps_ratio=(0.5, 0.4, 0.6),
        returns=(400.0, 480.0), **told, **rest,
    )  # fmt: skip
    run = view("ppo", learning_rate=0.05)
    guess = prescribe("lr-too-high", run, [], "medium")
    assert "guess" in guess.expected_effect and guess.priority == "medium"
    measured = prescribe("lr-too-high", run, [], "medium", [done])
    assert measured.expected_effect == (
        "final return 400 to 480 on CartPole-v1 with ppo of dressage, and the return aimed at in "
        "0.50 times the env steps (measured; proven in 1 of 1 verdict)"
    )
    elsewhere = prescribe("lr-too-high", replace(run, env="Acrobot-v1"), [], "medium", [done])
    assert elsewhere.expected_effect.startswith("not measured on this task; elsewhere final return")
    assert measured.priority == "high"
    lost = replace(done, returns=(20.0, 480.0), steps_ratio=(0.95, 0.9, 1.0))
    assert prescribe("lr-too-high", run, [], "medium", [lost]).priority == "critical"
    assert prescribe("gamma-too-low", run, [], "medium", [done]).expected_effect.endswith("(guess)")


@pytest.mark.parametrize(
    ("ours", "own"),
    [
        ({"env_steps": 60_000}, {"total_timesteps": 60_000}),
        ({"learning_rate": "linear(1e-3, 0)"}, {"learning_rate": "LinearSchedule(0.001, 0, 1)"}),
        ({"learning_rate": "cosine(1e-3, 0)"}, {"learning_rate": 1e-3}),
        ({"learning_rate": "1e-3", "train_freq": 1}, {"learning_rate": 1e-3, "train_freq": 1}),
        ({"normalize_advantage": "off"}, {"normalize_advantage": False}),
        (
            {"normalize_obs": True, "normalize_reward": False},
            {"env": "VecNormalize(env, norm_obs=True, norm_reward=False)"},
        ),
        (
            {"normalize_reward": True, "gamma": 0.9},
            {
                "gamma": 0.9,
                "env": "VecNormalize(env, norm_obs=False, norm_reward=True, gamma=0.9)",
            },
        ),
        (
            {"net_arch": {"policy": [64], "value": [32]}},
            {"policy_kwargs": "dict(net_arch=dict(pi=[64], vf=[32]))"},
        ),
        (
            {"epsilon": "linear(1, 0.05, until=0.2)"},
            {
                "exploration_initial_eps": 1.0,
                "exploration_final_eps": 0.05,
                "exploration_fraction": 0.2,
            },
        ),
        (
            {
                "optimizer": "adam",
                "optimizer_eps": 1e-5,
                "net_arch": [64, 64],
                "activation": "tanh",
            },
            {
                "policy_kwargs": "dict(optimizer_class=torch.optim.Adam, "
                "optimizer_kwargs=dict(eps=1e-05), net_arch=[64, 64], "
                "activation_fn=torch.nn.Tanh)"
            },
        ),
    ],
)
def test_a_patch_for_sb3_is_what_its_script_would_say(ours: Any, own: Any) -> None:
    run = RunView(Path("x"), "x", "sb3", "ppo")
    assert own_words(run, ours) == own


def test_a_patch_for_rl_zoo_is_what_its_file_would_say() -> None:
    run = RunView(Path("x"), "x", "sb3", "ppo", own_config={"n_timesteps": 100_000.0})
    asked = {"env_steps": 200_000, "learning_rate": "linear(1e-3, 0)", "normalize_obs": True}
    assert own_words(run, asked) == {
        "n_timesteps": 200_000,
        "learning_rate": "lin_0.001",
        "normalize": "dict(norm_obs=True, norm_reward=False)",
    }


@pytest.mark.parametrize("algo", ENVS)
@pytest.mark.parametrize("library", ["sb3", "cleanrl", "rllib"])
def test_no_patch_for_another_library_has_words_of_ours_alone(library: str, algo: str) -> None:
    run = replace(view(algo), library=library)
    for cause in CAUSES.values():
        if run.family in cause.families:
            patch = prescribe(cause.id, run, [], "high").patch
            assert not OURS_ALONE & patch.keys(), cause.id
            assert not any(str(value).startswith("linear(") for value in patch.values()), cause.id


@pytest.mark.parametrize(
    ("algo", "ours", "own"),
    [
        ("dqn", {"epsilon": "linear(1, 0.05, until=0.2)"},
         {"start_e": 1.0, "end_e": 0.05, "exploration_fraction": 0.2}),
        ("ppo", {"clip_range_vf": None}, {"clip_vloss": False}),
        ("ppo", {"n_steps": 64, "batch_size": 128}, {"num_steps": 64, "num_minibatches": 2}),
        ("ppo", {"learning_rate": "linear(1e-3, 0)"}, {"learning_rate": 1e-3, "anneal_lr": True}),
        ("ppo", {"normalize_reward": True, "net_arch": [256]}, {}),
        ("dqn", {"batch_size": 64, "gradient_steps": 4}, {"batch_size": 64}),
        ("sac", {"ent_coef": "auto"}, {"autotune": True}),
        ("sac", {"ent_coef": 0.1}, {"autotune": False, "alpha": 0.1}),
    ],
)  # fmt: skip
def test_a_patch_for_cleanrl_is_made_of_its_scripts_flags(algo: str, ours: Any, own: Any) -> None:
    run = RunView(Path("x"), "x", "cleanrl", algo, config={"n_envs": 4, "n_steps": 128})
    assert own_words(run, tellable(run, ours)[0]) == own


@pytest.mark.parametrize(
    ("algo", "own_config", "ours", "own"),
    [
        ("ppo", {}, {"n_steps": 32, "n_envs": 8, "n_epochs": 20, "normalize_obs": True},
         {"train_batch_size": 256, "num_epochs": 20}),
        ("ppo", {"train_batch_size_per_learner": 4000}, {"n_steps": 64},
         {"train_batch_size_per_learner": 128}),
        ("ppo", {}, {"clip_range_vf": None}, {"vf_clip_param": 1e10}),
        ("dqn", {}, {"epsilon": "linear(1, 0.05, until=0.2)"},
         {"epsilon": [[0, 1], [10_000, 0.05]]}),
        ("dqn", {"exploration_config/type": "EpsilonGreedy"}, {"epsilon": 0.1},
         {"exploration_config/initial_epsilon": 0.1, "exploration_config/final_epsilon": 0.1,
          "exploration_config/epsilon_timesteps": 50_000}),
    ],
)  # fmt: skip
def test_a_patch_for_rllib_is_made_of_its_keys(
    algo: str, own_config: Any, ours: Any, own: Any
) -> None:
    run = RunView(
        Path("x"), "x", "rllib", algo, config={"n_envs": 2}, own_config=own_config, budget=50_000
    )
    assert own_words(run, tellable(run, ours)[0]) == own


def test_an_epsilon_of_an_unknown_library_keeps_its_end() -> None:
    run = RunView(Path("x"), "x", "tianshou", "dqn")
    assert own_words(run, {"epsilon": "linear(1, 0.05)"}) == {"epsilon": "linear(1, 0.05)"}


def test_a_preset_says_which_of_its_settings_were_not_compared() -> None:
    run = RunView(Path("x"), "x", "wandb", "ppo", "CartPole-v1", {"learning_rate": 0.1})
    preset = tuned(run)
    assert preset is not None and "n_epochs" in preset.rationale
    ours = tuned(view("ppo", learning_rate=0.05))
    assert ours is not None and "does not tell" not in ours.rationale


def test_longer_training_is_not_said_to_be_faster() -> None:
    assert "fewer" not in prescribe("budget-too-small", view("ppo"), [], "high").expected_effect


def test_a_preset_keeps_settings_that_belong_together() -> None:
    """SB3's model holds gradient_steps as a number and train_freq as an object that is not read."""
    known = {"learning_rate": 1e-4, "gradient_steps": 1, "batch_size": 32}
    run = RunView(Path("x"), "x", "sb3", "dqn", "CartPole-v1", known)
    preset = tuned(run)
    assert preset is not None
    assert preset.patch["gradient_steps"] == 128 and preset.patch["train_freq"] == 256


def test_what_to_watch_is_what_the_next_run_can_have() -> None:
    ours, theirs = view("ppo"), replace(view("ppo"), library="sb3")
    watched = FIXES["clip-range-too-tight"].watch
    assert "Recorder" not in prescribe("clip-range-too-tight", theirs, [], "high").verify
    seen = replace(ours, series={watched: Series(STEPS, np.full(50, 0.1))})
    assert prescribe("clip-range-too-tight", seen, [], "high").verify.endswith(f"watch {watched}")
    lacks = prescribe("reward-scale-too-small", theirs, [], "high")
    assert "this run does not have it" in lacks.verify and "Recorder" in lacks.verify
    alone = prescribe("critic-too-weak", view("sac"), [], "high")  # SAC has no explained variance
    assert "watch" not in alone.verify
