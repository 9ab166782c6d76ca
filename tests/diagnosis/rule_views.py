"""Runs that a rule is tried on, made of a few series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dressage.runs.metrics import METRICS
from dressage.runs.view import NO_EPISODES, Episodes, RunView, Series

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
