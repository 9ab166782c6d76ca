"""Every rule says what it is, fires on what it is for, and stays quiet on what looks alike."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.rule import FAMILIES
from dressage.runs.metrics import METRICS, SOURCES, describe
from dressage.runs.view import NO_EPISODES, Episodes, RunView, Series

HEADINGS = (
    "Why it hurts",
    "Evidence",
    "Threshold and source",
    "Prescription",
    "Known false alarms",
    "References",
)
ENTROPY = "train/metrics/entropy"
ALPHA = "train/metrics/alpha"
MOVE = "train/metrics/update_to_weight/"
T = 60
STEPS = np.linspace(1000, 60_000, T)
NOISE = np.random.default_rng(0).normal(size=T)
RISING = 20 + 400 * (1 - np.exp(-STEPS / 15_000)) + 5 * NOISE
FLAT = 20 + 2 * NOISE


def view(
    config: dict[str, Any] | None = None,
    algo: str = "ppo",
    spec: dict[str, Any] | None = None,
    env: str = "CartPole-v1",
    episodes: Episodes = NO_EPISODES,
    threshold: float | None = None,
    restarts: tuple[float, ...] = (),
    **metrics: Any,
) -> RunView:
    """A run by its series, each by its name or the last word of it; a number is constant but for a
    little noise."""
    series = {}
    for name, values in metrics.items():
        known = next((m for m in METRICS if m.rpartition("/")[2] == name), name)
        given = np.asarray(values, float)
        series[known] = Series(STEPS, given if given.ndim else given * (1 + 0.01 * NOISE))
    return RunView(
        Path("x"), "x", "dressage", algo, env, config or {}, series=series,
        budget=60_000, env_steps=60_000, state="finished", spec=spec or {}, episodes=episodes,
        threshold=threshold, restarts=list(restarts),
    )  # fmt: skip


# rule -> a run on which it fires, and one that looks alike and is left alone
CASES: dict[str, tuple[RunView, RunView]] = {
    "OPT001": (
        view(kl_divergence=0.2, ep_rew_mean=FLAT),
        view(kl_divergence=0.015, ep_rew_mean=FLAT),
    ),
    "OPT002": (
        view(kl_divergence=1e-5, ep_rew_mean=FLAT),
        view(kl_divergence=1e-5, ep_rew_mean=RISING),
    ),
    "OPT003": (view(clip_fraction=0.8), view(clip_fraction=0.15)),
    "OPT004": (
        view(kl_divergence=0.1, clip_fraction=0.0),
        view(kl_divergence=0.1, clip_fraction=0.2),
    ),
    "EXP001": (
        view(ep_rew_mean=FLAT, **{ENTROPY: 0.69 * np.exp(-STEPS / 5000)}),
        view(ep_rew_mean=RISING, **{ENTROPY: 0.69 * np.exp(-STEPS / 5000)}),
    ),
    "EXP002": (
        view(ep_rew_mean=FLAT, **{ENTROPY: 0.69}),
        view(ep_rew_mean=FLAT, **{ENTROPY: np.linspace(0.69, 0.4, T)}),
    ),
    "VAL001": (
        view(explained_variance=-0.1, ep_rew_mean=FLAT),
        view(explained_variance=-0.1, ep_rew_mean=np.full(T, -200.0)),
    ),
    "VAL002": (view(**{"train/loss/value": 1e5}), view(**{"train/loss/value": 30.0})),
    "VAL003": (
        view(algo="dqn", q_mean=np.exp(STEPS / 6000)),
        view(algo="dqn", q_mean=100 * (1 - np.exp(-STEPS / 6000))),
    ),
    "PRO001": (view(ep_rew_mean=FLAT), view(ep_rew_mean=RISING)),
    "PRO002": (
        view(ep_rew_mean=np.linspace(20, 200, T) + NOISE),
        view(ep_rew_mean=np.minimum(np.linspace(20, 900, T), 200) + 5 * NOISE),
    ),
    "PRO003": (
        view(ep_rew_mean=20 + 400 * np.exp(-(((STEPS - 25_000) / 9000) ** 2)) + NOISE),
        view(ep_rew_mean=RISING),
    ),
    "CFG001": (
        view({"learning_starts": 60_000}, "dqn"),
        view({"learning_starts": 1000}, "dqn"),
    ),
    "CFG002": (
        view({"n_steps": 65, "n_envs": 1, "batch_size": 64}),
        view({"n_steps": 128, "n_envs": 1, "batch_size": 64}),
    ),
    "CFG003": (view({"n_steps": 2048, "n_envs": 8}), view({"n_steps": 128, "n_envs": 8})),
    "CFG004": (
        view({"learning_rate": 0.05}),
        view({"learning_rate": 0.05, "optimizer": "sgd"}),
    ),
    "CFG005": (
        view({"learning_rate": "linear(1e-8, 0)"}),
        view({"learning_rate": "linear(3e-4, 0)"}),
    ),
    "ENV001": (view(reward_std=300.0), view(reward_std=1.5)),
    "ENV002": (view(obs_abs_max=900.0), view(obs_abs_max=4.0)),
    "ENV003": (view(obs_std=1e-5), view(obs_std=0.3)),
    "EVA001": (
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": 25.0, "train/roll/ep_rew_std": 20.0}),
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": RISING, "train/roll/ep_rew_std": 20.0}),
    ),
    "OPT005": (
        view(**{"train/metrics/grad_norm/policy": 1e-12, "train/metrics/grad_norm/value": 2.0}),
        view(**{"train/metrics/grad_norm/policy": 1e-12, "train/metrics/grad_norm/value": 1e-12}),
    ),
    "OPT006": (
        view(kl_divergence=1e-9, explained_variance=np.linspace(0, 0.9, T), ep_rew_mean=FLAT),
        view(kl_divergence=1e-9, explained_variance=0.01, ep_rew_mean=FLAT),
    ),
    "OPT007": (
        view(
            ep_rew_mean=FLAT,
            **{f"{MOVE}policy": 1e-8, f"{MOVE}value": 1e-7},
        ),
        view(ep_rew_mean=FLAT, **{f"{MOVE}policy": 1e-8, f"{MOVE}value": 1e-3}),
    ),
    "OPT008": (
        view(grad_clipped=1.0, **{"train/metrics/grad_norm/total": 4000.0}),
        view(grad_clipped=1.0, **{"train/metrics/grad_norm/total": 2.0, f"{MOVE}policy": 1e-3}),
    ),
    "OPT009": (
        view(**{"train/metrics/grad_norm/policy": 0.1, "train/metrics/grad_norm/value": 900.0}),
        view(**{"train/metrics/grad_norm/policy": 0.1, "train/metrics/grad_norm/value": 9.0}),
    ),
    "OPT010": (
        view(**{"train/loss/value": 3 + 0.1 * NOISE + 500 * (np.arange(T) == 40)}),
        view(**{"train/loss/value": 3 + 0.1 * NOISE + 50 * (np.arange(T) == 2)}),
    ),
    "OPT011": (
        view(lr=3e-4 * np.maximum(0, 1 - STEPS / 20_000)),
        view(lr=3e-4 * np.maximum(0, 1 - STEPS / 60_000)),
    ),
    "OPT012": (
        view(lr=3e-4 * (1 - (STEPS / 20_000) % 1.0)),
        view(lr=3e-4 * np.minimum(1, STEPS / 5_000)),
    ),
    "OPT013": (
        view(algo="dqn", **{f"{MOVE}q": 0.05}),
        view(algo="dqn", **{f"{MOVE}q": np.where(STEPS < 5000, 0.05, 1e-3)}),
    ),
    "OPT014": (
        view(skipped_updates=3.0, **{"train/loss/value": 1.0}),
        view(skipped_updates=0.0, **{"train/loss/value": 1.0}),
    ),
    "OPT015": (
        view({"n_epochs": 10}, epochs_done=1.0),
        view({"n_epochs": 10}, epochs_done=8.0),
    ),
    "OPT016": (
        view(**{"train/metrics/weight_norm/policy": np.linspace(10, 3, T)}),
        view(**{"train/metrics/weight_norm/policy": np.linspace(10, 9.5, T)}),
    ),
    "OPT017": (
        view(algo="dqn", **{"train/metrics/dormant_share/q": np.linspace(0.2, 0.9, T)}),
        view(algo="dqn", **{"train/metrics/dormant_share/q": np.linspace(0.3, 0.55, T)}),
    ),
    "OPT018": (
        view(kl_divergence=0.2, **{f"{MOVE}policy": 1e-3}),
        view(kl_divergence=0.2, **{f"{MOVE}policy": 3e-2}),
    ),
    "OPT019": (
        view({"learning_rate": 3e-4, "value_learning_rate": 3e-6}),
        view({"learning_rate": 3e-4, "value_learning_rate": 1e-3}),
    ),
    "EXP003": (
        view(ep_rew_mean=FLAT, kl_divergence=0.005, **{ENTROPY: 0.69}),
        view(ep_rew_mean=FLAT, kl_divergence=1e-6, **{ENTROPY: 0.69}),
    ),
    "EXP004": (
        view(spec={"action_space": "Discrete(4)"}, **{ENTROPY: 0.5}),
        view(spec={"action_space": "Discrete(4)"}, **{ENTROPY: np.linspace(1.38, 0.5, T)}),
    ),
    "EXP005": (
        view(ep_rew_mean=FLAT, **{"train/loss/entropy": -0.35, "train/loss/policy": -0.004}),
        view(ep_rew_mean=FLAT, **{"train/loss/entropy": -0.007, "train/loss/policy": -0.004}),
    ),
    "EXP006": (
        view(**{"train/metrics/action_std": np.linspace(1, 6, T)}),
        view(**{"train/metrics/action_std": np.linspace(1, 0.3, T)}),
    ),
    "EXP007": (
        view(ep_rew_mean=FLAT, action_share_max=0.98),
        view(ep_rew_mean=RISING, action_share_max=0.98),
    ),
    "EXP008": (
        view(algo="dqn", epsilon=0.01),
        view(algo="rainbow", epsilon=0.01),
    ),
    "EXP009": (
        view(algo="dqn", epsilon=np.linspace(1, 0.7, T)),
        view(algo="dqn", epsilon=np.linspace(1, 0.05, T)),
    ),
    "EXP010": (
        view(algo="dqn", epsilon=np.where(STEPS < 1500, 0.1, 0.05)),
        view(algo="dqn", epsilon=np.maximum(0.05, 1 - STEPS / 8000)),
    ),
    "EXP011": (
        view(algo="td3", action_saturation=0.97, ep_rew_mean=FLAT),
        view(algo="td3", action_saturation=0.97, ep_rew_mean=RISING),
    ),
    "EXP012": (
        view(algo="ddpg", ep_rew_mean=FLAT, **{"train/roll/action_std": 0.01}),
        view(algo="ddpg", ep_rew_mean=FLAT, **{"train/roll/action_std": 0.4}),
    ),
    "EXP013": (
        view(algo="sac", **{ALPHA: np.exp(STEPS / 8000)}),
        view(algo="sac", **{ALPHA: np.exp(-STEPS / 8000)}),
    ),
    "EXP014": (
        view(algo="sac", reward_std=0.5, reward_mean=0.3, **{ALPHA: np.full(T, 10.0)}),
        view(algo="sac", reward_std=0.5, reward_mean=0.3, **{ALPHA: np.full(T, 0.2)}),
    ),
    "EXP015": (
        view(algo="sac", ep_rew_mean=FLAT, **{ENTROPY: 0.65}),
        view(algo="sac", ep_rew_mean=FLAT, **{ENTROPY: np.linspace(0.65, -1, T)}),
    ),
    "EXP016": (
        view(algo="sac", ep_rew_mean=FLAT, **{ENTROPY: -6.0}),
        view(algo="sac", ep_rew_mean=FLAT, **{ENTROPY: -1.0}),
    ),
}


@pytest.mark.parametrize("id", all_rules())
def test_what_a_rule_says_of_itself(id: str) -> None:
    rule = all_rules()[id]
    text = inspect.getdoc(type(rule)) or ""
    places = [text.find(f"\n{heading}\n") for heading in HEADINGS]
    assert all(place > 0 for place in places) and places == sorted(places)
    assert rule.family in FAMILIES and inspect.getfile(type(rule)).split("/")[-2] == rule.family
    assert Path(inspect.getfile(type(rule))).stem.replace("_", "-") == rule.name
    for cause, chance in rule.expected.items():
        assert cause in CAUSES or cause == HEALTHY
        assert 0.0 < chance < 1.0
    for name in (*rule.needs, *(either for either in rule.either if "/" in either)):
        describe(name)
    for threshold in rule.thresholds.values():
        assert threshold.source in SOURCES or threshold.source == "guess"


def test_every_rule_has_a_case() -> None:
    """Those that open checkpoints are tried on files, elsewhere."""
    assert {id for id, rule in all_rules().items() if rule.family != "checkpoint"} == set(CASES)


@pytest.mark.parametrize("id", CASES)
def test_a_rule_fires_and_stays_quiet(id: str) -> None:
    rule, (ill, well) = all_rules()[id], CASES[id]
    assert rule.can_see(ill)
    found = rule.check(ill)
    assert found is not None and found.rule == id
    assert found.says.endswith(".") and any(c.isdigit() for c in found.says)
    assert rule.check(well) is None


@pytest.mark.parametrize("id", all_rules())
def test_a_rule_needs_what_it_looks_at(id: str) -> None:
    rule = all_rules()[id]
    empty = view()
    if rule.needs or rule.settings or rule.either:
        assert not rule.can_see(empty)
    else:
        assert rule.check(empty) is None
