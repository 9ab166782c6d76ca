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
PLAIN_SOURCES = (
    "guess",
    "arithmetic",
    "rounding of float32",
    "rlwatch",
    "our labelled runs, 2026-11-16",
    "our labelled runs, 2026-11-17",
)
ENTROPY = "train/metrics/entropy"
ALPHA = "train/metrics/alpha"
AGENT = "policy_reward_mean/agent_1"
MOVE = "train/metrics/update_to_weight/"
NORM = "train/metrics/weight_norm/"
GRADIENT = "train/metrics/grad_norm/"
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
    state: Any = "finished",
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
        budget=60_000, env_steps=60_000, state=state, spec=spec or {}, episodes=episodes,
        threshold=threshold, restarts=list(restarts),
    )  # fmt: skip


CERTAIN = np.where(STEPS < 2500, 0.69, 1e-6)
SURER = {ENTROPY: np.linspace(0.69, 0.3, T), "train/loss/policy": -0.01}
STEADY = {"reward_mean": 1.0, "reward_std": 0.01}


def episodes(returns: Any, length: float, ended: str, together: int = 1) -> Episodes:
    """Episodes of one length, `together` of which end at the same env step."""
    n = len(returns)
    steps = length * (1 + np.arange(n) // together).astype(float)
    return Episodes(steps, np.asarray(returns, float), np.full(n, length), np.full(n, ended))


# rule -> a run on which it fires, and one that looks alike and is left alone
CASES: dict[str, tuple[RunView, RunView]] = {
    "OPT001": (
        view(kl_divergence=0.2, ep_rew_mean=FLAT),
        view(kl_divergence=0.015, ep_rew_mean=FLAT),
    ),
    "OPT002": (
        view(kl_divergence=5e-4, ep_rew_mean=FLAT),
        view(kl_divergence=5e-4, ep_rew_mean=RISING),
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
    "PRO040": (view(ep_rew_mean=RISING), view(ep_rew_mean=FLAT)),
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
    "EXP017": (
        view(**{"train/loss/entropy": 0.2, ENTROPY: 0.6}),
        view(**{"train/loss/entropy": -0.006, ENTROPY: 0.6}),
    ),
    "EXP016": (
        view(algo="sac", ep_rew_mean=FLAT, **{ENTROPY: -6.0}),
        view(algo="sac", ep_rew_mean=FLAT, **{ENTROPY: -1.0}),
    ),
    "VAL004": (
        view(value_mean=0.02, return_mean=-60.0),
        view(value_mean=np.linspace(0.02, -60, T), return_mean=-60.0),
    ),
    "VAL005": (
        view(value_mean=3.0, return_mean=90.0, return_std=5.0),
        view(value_mean=85.0, return_mean=90.0, return_std=5.0),
    ),
    "VAL006": (
        view(**{"train/metrics/grad_norm/value": 0.0}),
        view(**{"train/metrics/grad_norm/value": 1e-3}),
    ),
    "VAL007": (
        view(explained_variance=0.1, kl_divergence=0.01, ep_rew_mean=FLAT),
        view(explained_variance=0.1, kl_divergence=1e-6, ep_rew_mean=FLAT),
    ),
    "VAL009": (
        view(explained_variance=0.95, ep_rew_mean=FLAT),
        view(explained_variance=0.95, ep_rew_mean=RISING),
    ),
    "VAL010": (
        view(value_mean=2.0, explained_variance=0.9, **STEADY, ep_len_mean=100.0),
        view(value_mean=40.0, explained_variance=0.9, **STEADY, ep_len_mean=100.0),
    ),
    "VAL011": (
        view(algo="dqn", q_mean=99.0, **STEADY, ep_len_mean=20.0),
        view(algo="dqn", q_mean=99.0, **STEADY, ep_len_mean=190.0),
    ),
    "VAL012": (
        view(algo="dqn", q_mean=90.0, q_gap=70.0, reward_std=0.1),
        view(algo="dqn", q_mean=90.0, q_gap=10.0, reward_std=0.1),
    ),
    "VAL013": (
        view(algo="dqn", q_mean=20.0, q_gap=-60.0),
        view(algo="dqn", q_mean=20.0, q_gap=-2.0),
    ),
    "VAL014": (
        view(algo="sac", ep_rew_mean=FLAT, td_error_mean=np.exp(STEPS / 10_000)),
        view(algo="sac", ep_rew_mean=FLAT, td_error_mean=np.linspace(0.2, 0.8, T)),
    ),
    "VAL015": (
        view(algo="dqn", ep_rew_mean=FLAT, td_error_mean=np.exp(-STEPS / 4000)),
        view(algo="dqn", ep_rew_mean=RISING, td_error_mean=np.exp(-STEPS / 4000)),
    ),
    "VAL016": (
        view(algo="sac", target_drift=0.0, q_mean=50.0),
        view(algo="dqn", target_drift=0.0, q_mean=50.0),
    ),
    "VAL017": (view(value_clip_fraction=0.9), view(value_clip_fraction=0.1)),
    "VAL018": (
        view(**{"train/loss/policy": -40.0}),
        view(algo="reinforce", **{"train/loss/policy": -40.0}),
    ),
    "ENV040": (
        view(action_effect=0.2, action_effect_late=0.05),
        view(action_effect=0.02, action_effect_late=0.95),
    ),
    "ENV041": (view(action_effect_late=0.9), view(action_effect_late=0.05)),
    "ENV042": (view(history_gain=0.8), view(history_gain=0.1)),
    "ENV043": (view(reward_explained=0.02), view(reward_explained=0.9)),
    "DAT001": (
        view(truncated_share=0.0, episodes=episodes(100 + 0 * NOISE, 50, "terminated")),
        view(truncated_share=1.0, episodes=episodes(100 + 0 * NOISE, 50, "truncated")),
    ),
    "DAT002": (
        view(algo="dqn", buffer_fill=1.0, buffer_age=250.0),
        view(algo="dqn", buffer_fill=np.linspace(0.01, 1, T), buffer_age=STEPS / 2),
    ),
    "DAT003": (view(algo="sac", update_to_data=0.01), view(algo="sac", update_to_data=1.0)),
    "DAT004": (view(algo="sac", update_to_data=16.0), view(algo="redq", update_to_data=16.0)),
    "DAT005": (
        view(algo="dqn", updates=np.maximum(0, STEPS - 30_000)),
        view(algo="dqn", updates=np.maximum(0, STEPS - 1000)),
    ),
    "DAT006": (
        view(algo="dqn", updates=np.zeros(T), ep_rew_mean=FLAT),
        view(algo="dqn", updates=STEPS, ep_rew_mean=FLAT),
    ),
    "DAT007": (view({"batch_size": 4}), view({"batch_size": 64})),
    "DAT008": (
        view(epochs_done=2.0, updates=STEPS / 1000),
        view(epochs_done=2.0, updates=STEPS / 20),
    ),
    "DAT009": (view(epochs_done=100.0), view(epochs_done=10.0)),
    "DAT010": (view(iterations=STEPS / 8), view(iterations=STEPS / 2048)),
    "ENV004": (view(reward_std=1e-4, reward_mean=1e-4), view(reward_std=0.5, reward_mean=0.0)),
    "ENV005": (
        view(ep_rew_mean=np.full(T, -200.0), **{"train/roll/ep_rew_std": np.zeros(T)}),
        view(ep_rew_mean=FLAT, **{"train/roll/ep_rew_std": 12.0}),
    ),
    "ENV006": (
        view(reward_mean=np.where(STEPS > 30_000, np.nan, 1.0)),
        view(reward_mean=1.0),
    ),
    "ENV007": (
        view(ep_len_mean=np.where(STEPS < 2500, 80.0, 4.0)),
        view(ep_len_mean=np.ones(T)),
    ),
    "ENV008": (
        view(ep_len_mean=np.full(T, 20.0), truncated_share=1.0, ep_rew_mean=20.0),
        view(ep_len_mean=np.full(T, 20.0), truncated_share=1.0, ep_rew_mean=FLAT),
    ),
    "ENV009": (
        view(episodes=episodes(np.repeat(NOISE[:30], 2), 50, "truncated", together=2)),
        view(episodes=episodes(NOISE, 50, "truncated", together=2)),
    ),
    "ENV010": (
        view(ep_rew_mean=-20.0, ep_len_mean=20.0),
        view(ep_rew_mean=-20.0, ep_len_mean=20.0, env="MountainCar-v0"),
    ),
    "PRO004": (
        view(ep_rew_mean=np.linspace(60, 10, T) + NOISE),
        view(ep_rew_mean=FLAT),
    ),
    "PRO005": (
        view(ep_rew_mean=np.minimum(20 + STEPS / 100, 200) + 5 * NOISE, threshold=475.0),
        view(ep_rew_mean=np.minimum(20 + STEPS / 100, 200) + 5 * NOISE, threshold=195.0),
    ),
    "PRO006": (
        view(ep_rew_mean=RISING + 150 * np.sin(STEPS / 2000)),
        view(ep_rew_mean=RISING),
    ),
    "PRO007": (
        view(ep_rew_mean=RISING * np.where(STEPS > 30_000, 0.2, 1.0), restarts=(30_000,)),
        view(ep_rew_mean=RISING, restarts=(30_000,)),
    ),
    "PRO008": (
        view(ep_rew_mean=np.where(STEPS < 40_000, RISING, 25 + NOISE)),
        view(ep_rew_mean=20 + 400 * np.exp(-(((STEPS - 25_000) / 15_000) ** 2)) + NOISE),
    ),
    "PRO009": (
        view(ep_rew_mean=FLAT, threshold=475.0),
        view(ep_rew_mean=RISING, threshold=475.0),
    ),
    "OPT020": (
        view(kl_divergence=np.where(STEPS < 6000, 0.8, 0.01)),
        view(kl_divergence=0.02),
    ),
    "OPT022": (
        view(clip_fraction=0.6, kl_divergence=1e-6),
        view(clip_fraction=0.6, kl_divergence=0.05),
    ),
    "OPT021": (
        view(algo="dqn", **{"train/metrics/weight_norm/q": np.where(STEPS < 40_000, 60.0, 14.0)}),
        view(algo="dqn", **{"train/metrics/weight_norm/q": np.linspace(14, 150, T)}),
    ),
    "OPT030": (
        view(**{f"{NORM}{net}": np.where(STEPS < 2500, 12.0, 60.0) for net in ("policy", "value")}),
        view(**{f"{NORM}policy": np.where(STEPS < 2500, 0.02, 0.5), f"{NORM}shared": 12.0}),
    ),
    "OPT031": (
        view(clip_fraction=0.9, kl_divergence=5.0),
        view(clip_fraction=0.9, kl_divergence=1e-6),
    ),
    "OPT032": (
        view(**{f"{NORM}policy": 40.0, f"{NORM}value": 3000.0}),
        view(**{f"{NORM}policy": 0.02, f"{NORM}value": 1.1, f"{NORM}shared": 12.0}),
    ),
    "OPT033": (
        view(**{f"{GRADIENT}policy": 0.4, f"{GRADIENT}shared": 20_000.0}),
        view(**{f"{GRADIENT}policy": 0.4, f"{GRADIENT}shared": 40.0}),
    ),
    "OPT035": (
        view(**{f"{MOVE}policy": 1e-3 * (STEPS < 20_000), f"{MOVE}value": 1e-3 * (STEPS < 20_000)}),
        view(**{f"{MOVE}policy": 1e-3 * (STEPS < 20_000), f"{MOVE}value": 1e-3}),
    ),
    "OPT036": (
        view(**{f"{NORM}policy": 1.4, f"{NORM}value": 1.7}),
        view(**{f"{NORM}policy": 0.02, f"{NORM}value": 1.1, f"{NORM}shared": 12.0}),
    ),
    "OPT037": (
        view(iterations=STEPS / 16_384, ep_rew_mean=FLAT),
        view(iterations=STEPS / 4096, ep_rew_mean=FLAT),
    ),
    "OPT038": (
        view(ep_rew_mean=FLAT, kl_divergence=np.where(STEPS < 5000, 0.02, 1e-6)),
        view(ep_rew_mean=FLAT, kl_divergence=1e-6),
    ),
    "EXP030": (
        view(
            ep_rew_mean=FLAT,
            kl_divergence=0.003,
            **{"val/roll/ep_rew_mean": 90.0, "train/roll/ep_rew_std": 20.0, ENTROPY: 0.65},
        ),
        view(
            ep_rew_mean=FLAT,
            kl_divergence=1e-8,
            **{"val/roll/ep_rew_mean": 90.0, "train/roll/ep_rew_std": 20.0, ENTROPY: 0.65},
        ),
    ),
    "OPT039": (
        view(iterations=STEPS / 6, ep_len_mean=50.0),
        view(iterations=STEPS / 512, ep_len_mean=2000.0),
    ),
    "OPT040": (
        view(kl_divergence=0.005, ep_rew_mean=20 + 400 * np.exp(-STEPS / 9000) + NOISE, **SURER),
        view(kl_divergence=3.0, ep_rew_mean=20 + 400 * np.exp(-STEPS / 9000) + NOISE, **SURER),
    ),
    "OPT041": (
        view(**{f"{MOVE}policy": 1e-3 * (STEPS > 2500), f"{MOVE}value": 1e-3, ENTROPY: 0.69}),
        view(**{f"{MOVE}policy": 1e-3 * (STEPS < 2500), f"{MOVE}value": 1e-3, ENTROPY: CERTAIN}),
    ),
    "OPT042": (view(state="crashed", ep_rew_mean=FLAT), view(ep_rew_mean=FLAT)),
    "OPT043": (
        view(**{f"{NORM}policy": np.where(STEPS < 40_000, 12 + STEPS / 5000, 12.0)}),
        view(**{f"{NORM}policy": np.where(STEPS < 40_000, 12 + STEPS / 5000, 30.0)}),
    ),
    "OPT044": (
        view(return_mean=90.0, **STEADY, ep_len_mean=30.0, truncated_share=0.0),
        view(return_mean=90.0, **STEADY, ep_len_mean=30.0, truncated_share=1.0),
    ),
    "VAL022": (
        view(algo="dqn", q_max=np.linspace(4000, 50, T), **STEADY),
        view(algo="dqn", q_max=np.linspace(0.2, 90, T), **STEADY),
    ),
    "VAL030": (
        view(
            algo="dqn",
            **{f"{MOVE}q": 0.002, "train/metrics/weight_norm/q": [9.0, *[36.0] * (T - 1)]},
        ),
        view(
            algo="dqn",
            **{f"{MOVE}q": 0.002, "train/metrics/weight_norm/q": np.linspace(9, 36, T)},
        ),
    ),
    "VAL031": (
        view(algo="ddpg", q_mean=-60.0, td_error_mean=0.5, **{"train/loss/actor": 62.0}),
        view(algo="ddpg", q_mean=-60.0, td_error_mean=0.5, **{"train/loss/actor": 59.0}),
    ),
    "VAL032": (
        view(
            algo="ddpg",
            q_mean=np.full(T, -6.0),
            td_error_mean=0.5,
            ep_rew_mean=FLAT,
            **{"train/loss/actor": np.full(T, 6.0)},
        ),
        view(
            algo="ddpg",
            q_mean=np.full(T, -6.0),
            td_error_mean=0.5,
            ep_rew_mean=RISING,
            **{"train/loss/actor": np.full(T, 6.0)},
        ),
    ),
    "VAL033": (
        view(algo="sac", **{f"{MOVE}critic": 4e-5, f"{MOVE}actor": 1e-3}),
        view(algo="sac", **{f"{MOVE}critic": 4e-4, f"{MOVE}actor": 1e-3}),
    ),
    "VAL034": (
        view(algo="dqn", q_mean=50.0, q_gap=40.0, td_error_mean=0.1, truncated_share=0.0),
        view(algo="dqn", q_mean=50.0, q_gap=40.0, td_error_mean=5.0, truncated_share=0.0),
    ),
    "VAL035": (
        view(algo="dqn", q_mean=40.0, td_error_mean=8.0, target_drift=0.1, ep_rew_mean=FLAT),
        view(algo="dqn", q_mean=40.0, td_error_mean=8.0, target_drift=0.1, ep_rew_mean=RISING),
    ),
    "VAL036": (
        view(algo="dqn", q_mean=0.001, td_error_mean=0.002, **STEADY),
        view(algo="dqn", q_mean=0.001, td_error_mean=1.0, **STEADY),
    ),
    "VAL037": (
        view(return_mean=np.linspace(10, 90, T), **STEADY, truncated_share=1.0),
        view(return_mean=np.linspace(10, 90, T), **STEADY, truncated_share=0.0),
    ),
    "VAL038": (
        view(return_mean=1.4, return_std=0.014, **STEADY, ep_len_mean=100.0),
        view(return_mean=14.0, return_std=0.14, **STEADY, ep_len_mean=100.0),
    ),
    "VAL039": (
        view(algo="dqn", td_error_mean=8.0, reward_std=10.0, reward_mean=0.5),
        view(algo="dqn", td_error_mean=8.0, reward_std=10.0, reward_mean=-8.0),
    ),
    "VAL040": (
        view(algo="sac", td_error_mean=3.0, reward_std=4.0, reward_mean=-6.0, ep_rew_mean=FLAT),
        view(algo="sac", td_error_mean=0.8, reward_std=4.0, reward_mean=-6.0, ep_rew_mean=FLAT),
    ),
    "VAL041": (
        view(
            algo="sac",
            q_mean=np.full(T, -60.0),
            td_error_mean=0.5,
            target_drift=1.0,
            reward_std=3.0,
            ep_rew_mean=FLAT,
            **{"train/loss/actor": np.full(T, 60.0)},
        ),
        view(
            algo="sac",
            q_mean=np.full(T, -60.0),
            td_error_mean=0.5,
            target_drift=1.0,
            reward_std=3.0,
            ep_rew_mean=FLAT,
            **{"train/loss/actor": np.full(T, 59.0)},
        ),
    ),
    "VAL042": (
        view(
            algo="sac", critic_disagreement=0.2, td_error_mean=2.0, reward_std=4.0, reward_mean=-6.0
        ),
        view(
            algo="sac", critic_disagreement=1.8, td_error_mean=2.0, reward_std=4.0, reward_mean=-6.0
        ),
    ),
    "VAL043": (
        view(algo="dqn", q_mean=np.full(T, 42.0), q_max=np.full(T, 42.5), td_error_mean=8.0),
        view(algo="dqn", q_mean=np.full(T, 42.0), q_max=np.full(T, 54.0), td_error_mean=8.0),
    ),
    "VAL044": (
        view(algo="dqn", q_mean=0.02, q_max=1.05, td_error_mean=0.007, q_gap=0.002),
        view(algo="dqn", q_mean=0.77, q_max=1.05, td_error_mean=0.007, q_gap=0.002),
    ),
    "VAL045": (
        view(algo="sac", target_drift=6.0, td_error_mean=0.05, q_mean=-7.0),
        view(algo="sac", target_drift=6.0, td_error_mean=1.5, q_mean=-7.0),
    ),
    "DAT030": (
        view(algo="dqn", buffer_age=STEPS + 500),
        view(algo="dqn", buffer_age=STEPS / 2),
    ),
    "DAT031": (
        view(
            algo="ddpg",
            action_saturation=0.6,
            **{"train/roll/action_std": np.where(STEPS < 5000, 0.57, 0.84)},
        ),
        view(
            algo="ddpg",
            action_saturation=0.6,
            **{"train/roll/action_std": np.where(STEPS < 5000, 0.57, 0.84 + 0.3 * NOISE)},
        ),
    ),
    "DAT013": (
        view(algo="dqn", buffer_fill=(STEPS % 40_000) / 60_000),
        view(algo="dqn", buffer_fill=STEPS / 60_000),
    ),
    "DAT014": (
        view(algo="dqn", buffer_age=STEPS / 2 * (1 + 0.577 / np.sqrt(4) * NOISE)),
        view(algo="dqn", buffer_age=STEPS / 2 * (1 + 0.577 / np.sqrt(64) * NOISE)),
    ),
    "ENV011": (
        view(episodes=episodes(NOISE, 50, "truncated")),
        view(episodes=episodes(NOISE, 500, "truncated")),
    ),
    "EVA002": (
        view(
            algo="dqn",
            ep_rew_mean=FLAT,
            **{"val/roll/ep_rew_mean": 450.0, "train/roll/ep_rew_std": 15.0},
        ),
        view(
            algo="dqn",
            ep_rew_mean=RISING,
            **{"val/roll/ep_rew_mean": 450.0, "train/roll/ep_rew_std": 40.0},
        ),
    ),
    "EVA003": (
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": RISING / 50}),
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": RISING / 2}),
    ),
    "EVA004": (
        view(
            **{
                "val/roll/ep_rew_mean": 400 * np.exp(-(((STEPS - 25_000) / 9000) ** 2)),
                "val/roll/ep_rew_std": 20.0,
            }
        ),
        view(**{"val/roll/ep_rew_mean": RISING, "val/roll/ep_rew_std": 20.0}),
    ),
    "EVA005": (
        view(ep_rew_mean=RISING, **{"train/roll/success_rate": 0.01}),
        view(ep_rew_mean=RISING, **{"train/roll/success_rate": np.linspace(0, 0.9, T)}),
    ),
    "EVA006": (
        view(
            **{
                "val/roll/ep_rew_mean": RISING,
                "val/roll/ep_rew_std": 0.0,
                "val/roll/episodes": np.full(T, 1.0),
            }
        ),
        view(
            **{
                "val/roll/ep_rew_mean": RISING,
                "val/roll/ep_rew_std": 30.0,
                "val/roll/episodes": np.full(T, 20.0),
            }
        ),
    ),
    "MAC001": (
        view(env_steps_per_second=1000 * np.exp(-STEPS / 20_000)),
        view(env_steps_per_second=1000 + 300 * NOISE),
    ),
    "MAC002": (
        view(**{"sys/time/collect": 1.0, "sys/time/update": 1.0, "sys/time/evaluate": 40.0}),
        view(**{"sys/time/collect": 1.0, "sys/time/update": 1.0, "sys/time/evaluate": 2.0}),
    ),
    "MAC003": (
        view(**{"sys/time/collect": 50.0, "sys/time/update": 1.0}),
        view(**{"sys/time/collect": 1.0, "sys/time/update": 1.0}),
    ),
    "CFG006": (view({"gamma": 0.5}, ep_len_mean=200.0), view({"gamma": 0.5}, ep_len_mean=2.0)),
    "CFG007": (view({"gae_lambda": 0.0}), view({"gae_lambda": 0.8})),
    "CFG008": (view({"clip_range": 5.0}), view({"clip_range": "linear(0.2, 0)"})),
    "CFG009": (view({"ent_coef": 0.5}), view({"ent_coef": 0.01})),
    "CFG010": (view({"vf_coef": 0.0}), view({"vf_coef": 0.5})),
    "CFG011": (
        view({"max_grad_norm": 1e-5}),
        view({"max_grad_norm": None}, algo="sac"),
    ),
    "CFG012": (
        view({"optimizer": "sgd", "learning_rate": 3e-4}),
        view({"optimizer": "sgd", "learning_rate": 0.05}),
    ),
    "CFG013": (view({"optimizer_eps": 0.1}), view({"optimizer_eps": 1e-5})),
    "CFG014": (view({"weight_decay": 1.0}), view({"weight_decay": 1e-4})),
    "CFG015": (
        view({"net_arch": {"pi": [1], "vf": [64]}}),
        view({"net_arch": [64, 64], "activation": "tanh"}),
    ),
    "CFG016": (
        view({"target_update_interval": 1, "tau": 1.0}, "dqn"),
        view({"target_update_interval": 1, "tau": 0.005}, "dqn"),
    ),
    "CFG017": (
        view({"policy_delay": 1, "target_policy_noise": 0.0}, "td3"),
        view({"policy_delay": 2, "target_policy_noise": 0.0}, "td3"),
    ),
    "CFG018": (view({"noise_std": 0.0}, "td3"), view({"noise_std": 0.0}, "sac")),
    "CFG019": (
        view(spec={"action": {"scale": False, "leaves": [{"low": [-2000.0], "high": [2000.0]}]}}),
        view(spec={"action": {"scale": True, "leaves": [{"low": [-2000.0], "high": [2000.0]}]}}),
    ),
    "VAL019": (
        view(algo="cql", value_scale=np.exp(STEPS / 6000), **{"val/roll/ep_rew_mean": 20.0}),
        view(algo="cql", value_scale=15.0, **{"val/roll/ep_rew_mean": 20.0}),
    ),
    "VAL020": (
        view(algo="cql", conservative_loss=900.0, critic_loss=1.0),
        view(algo="cql", conservative_loss=3.0, critic_loss=1.0),
    ),
    "EVA007": (
        view(
            algo="bc", **{"bc/neglogp": np.exp(-STEPS / 9000), "val/roll/ep_rew_mean": 20 + NOISE}
        ),
        view(algo="bc", **{"bc/neglogp": np.exp(-STEPS / 9000), "val/roll/ep_rew_mean": RISING}),
    ),
    "DAT011": (
        view(algo="bc", spec={"action_space": "Discrete(4)"}, **{"bc/prob_true_act": 0.26}),
        view(algo="bc", spec={"action_space": "Discrete(4)"}, **{"bc/prob_true_act": 0.9}),
    ),
    "DAT012": (
        view(algo="dagger", beta=np.ones(T)),
        view(algo="dagger", beta=np.maximum(0, 1 - STEPS / 15_000)),
    ),
    "VAL021": (
        view(algo="gail", **{"mean/disc/disc_acc": 0.999}),
        view(algo="gail", **{"mean/disc/disc_acc": 0.7}),
    ),
    "PRO010": (
        view(algo="ippo", **{"policy_reward_mean/agent_0": RISING, AGENT: FLAT}),
        view(
            algo="ippo", **{"policy_reward_mean/agent_0": RISING, AGENT: RISING[::-1] + RISING * 2}
        ),
    ),
    "PRO011": (
        view(algo="ippo", **{"policy_reward_mean/agent_0": RISING, AGENT: RISING}),
        view(algo="ippo", **{"policy_reward_mean/agent_0": RISING, AGENT: RISING + 0.1}),
    ),
    "PRO031": (
        view(
            ep_rew_mean=RISING,
            explained_variance=0.5,
            episodes=episodes(20 * NOISE[np.r_[0:T, 0:T]], 500, "truncated"),
        ),
        view(
            ep_rew_mean=RISING,
            explained_variance=0.98,
            episodes=episodes(20 * NOISE[np.r_[0:T, 0:T]], 500, "truncated"),
        ),
    ),
    "ENV030": (
        view(
            ep_rew_mean=NOISE,
            ep_len_mean=100.0,
            reward_std=1.0,
            reward_mean=0.01 * NOISE,
            **{"train/roll/ep_rew_std": 10.0},
        ),
        view(
            ep_rew_mean=NOISE,
            ep_len_mean=100.0,
            reward_std=1.0,
            reward_mean=0.01 * NOISE,
            **{"train/roll/ep_rew_std": 60.0},
        ),
    ),
    "ENV031": (
        view(explained_variance=0.01, value_mean=30.0, return_mean=30.0, return_std=8.0),
        view(explained_variance=0.01, value_mean=10.0, return_mean=30.0, return_std=8.0),
    ),
    "ENV032": (
        view(explained_variance=np.zeros(T), ep_rew_mean=FLAT),
        view(explained_variance=0.01 * NOISE, ep_rew_mean=FLAT),
    ),
    "ENV033": (
        view(explained_variance=0.999, ep_rew_mean=FLAT, **{ENTROPY: 0.6 + 0.01 * NOISE}),
        view(explained_variance=0.9, ep_rew_mean=FLAT, **{ENTROPY: 0.6 + 0.01 * NOISE}),
    ),
    "ENV034": (
        view(episodes=episodes(np.where(np.arange(T) % 8 == 0, -90, 90) + NOISE, 50, "truncated")),
        view(episodes=episodes(60 * NOISE, 50, "truncated")),
    ),
    "ENV035": (
        view(algo="sac", ep_rew_mean=FLAT, td_error_mean=0.8, reward_std=1.0),
        view(algo="sac", ep_rew_mean=FLAT, td_error_mean=0.1, reward_std=1.0),
    ),
    "ENV036": (
        view(
            algo="sac",
            ep_rew_mean=FLAT,
            **{ALPHA: np.exp(-STEPS / 9000), "train/loss/alpha": -1.6 * STEPS / 9000},
        ),
        view(
            algo="sac",
            ep_rew_mean=FLAT,
            **{
                ALPHA: np.exp(-STEPS / 9000),
                "train/loss/alpha": -1.6 * STEPS / 9000 * np.exp(-STEPS / 12_000),
            },
        ),
    ),
    "ENV037": (
        view(adv_std=0.5, adv_mean=0.01, return_std=0.6, return_mean=1.0, ep_rew_mean=FLAT),
        view(adv_std=0.5, adv_mean=0.4, return_std=0.6, return_mean=1.0, ep_rew_mean=FLAT),
    ),
    "EVA030": (
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": 25.0, "train/roll/ep_rew_std": 20.0}),
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": RISING, "train/roll/ep_rew_std": 20.0}),
    ),
    "MAC030": (
        view(**{"sys/time/collect": 1 + STEPS / 15_000, "sys/time/update": 1.0}),
        view(**{"sys/time/collect": 1 + STEPS / 15_000, "sys/time/update": 1 + STEPS / 15_000}),
    ),
    "MAC031": (
        view({"backend": "process"}, **{"sys/time/collect": 0.1}),
        view({"backend": "process"}, **{"sys/time/collect": 10.0}),
    ),
    "MAC032": (
        view(**{"val/roll/ep_len_mean": 500.0, "val/roll/episodes": np.full(T, 20.0)}),
        view(**{"val/roll/ep_len_mean": 50.0, "val/roll/episodes": np.full(T, 20.0)}),
    ),
    "PRO012": (
        view(algo="mappo", win_rate=0.5 + 0.3 * np.sin(STEPS / 2000)),
        view(algo="mappo", win_rate=np.linspace(0.3, 0.9, T)),
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
        assert threshold.source in {*SOURCES, *PLAIN_SOURCES}


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


def test_every_cause_is_expected_by_a_rule() -> None:
    speak = {
        cause: [id for id, rule in all_rules().items() if rule.expected.get(cause, 0) >= 0.3]
        for cause in CAUSES
    }
    assert [cause for cause, rules in speak.items() if not rules] == []


@pytest.mark.parametrize("id", all_rules())
def test_a_rule_needs_what_it_looks_at(id: str) -> None:
    rule = all_rules()[id]
    empty = view()
    if rule.needs or rule.settings or rule.either:
        assert not rule.can_see(empty)
    else:
        assert rule.check(empty) is None
