"""Numbers of the algorithms take a schedule, and a run records the value in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.math.schedules import parse_schedule

EVERY = {
    "learning_rate": "linear(1e-3, 1e-4)",
    "value_learning_rate": "linear(2e-3, 1e-3)",
    "gamma": "linear(0.9, 0.99)",
    "ent_coef": "linear(0.01, 0)",
    "max_grad_norm": "linear(1, 0.1)",
}
CRITIC = {"gae_lambda": "linear(0.9, 1)", "vf_coef": "linear(1, 0.5)"}
PPO = {
    "clip_range": "linear(0.2, 0.1)",
    "clip_range_vf": "linear(0.5, 0.1)",
    "target_kl": "linear(1, 0.5)",
}
SCHEDULES = {"ppo": EVERY | CRITIC | PPO, "a2c": EVERY | CRITIC, "reinforce": EVERY}
SIZES: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 16, "batch_size": 16, "n_epochs": 1},
    "a2c": {"n_steps": 16},
    "reinforce": {"n_steps": 16, "baseline_steps": 2},
}


@pytest.mark.parametrize("algo", SCHEDULES)
def test_every_scheduled_number_is_recorded_as_it_changes(algo: str, tmp_path: Path) -> None:
    run = dressage.train(
        "CartPole-v1",
        algo=algo,
        runs=tmp_path,
        preset=False,
        env_steps=8 * 32,
        n_envs=2,
        backend="inline",
        net_arch=[8],
        eval_every=0,
        final_eval_episodes=0,
        **SIZES[algo],
        **SCHEDULES[algo],
    )
    found = run.metrics("train/hp/*")
    short = {"learning_rate": "lr", "value_learning_rate": "value_lr"}
    assert set(found) >= {f"train/hp/{short.get(name, name)}" for name in SCHEDULES[algo]}
    for name, text in SCHEDULES[algo].items():
        schedule = parse_schedule(text)
        expected = [schedule(i / 8) for i in range(8)]  # the value at the start of each iteration
        assert found[f"train/hp/{short.get(name, name)}"] == pytest.approx(expected), name


def test_what_another_setting_overrules_is_recorded_as_it_acts(tmp_path: Path) -> None:
    tiny: dict[str, Any] = {"n_envs": 1, "env_steps": 80, "net_arch": [8], "log_every": 8}
    tiny |= {"learning_starts": 40, "batch_size": 8, "backend": "inline", "runs": tmp_path}
    run = dressage.train("Pendulum-v1", algo="td3", action_noise="none", **tiny)
    assert not np.any(run.metrics()["train/hp/noise_std"])
