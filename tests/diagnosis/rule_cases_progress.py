"""Rules of EVA, EXP, MAC, PRO, each with a run on which it fires and one that looks alike."""

from __future__ import annotations

import numpy as np
from rule_views import AGENT, ALPHA, ENTROPY, FLAT, NOISE, RISING, STEPS, T, episodes, view

from dressage.runs.view import RunView

VAL, STD = "val/roll/ep_rew_mean", "train/roll/ep_rew_std"

CASES: dict[str, tuple[RunView, RunView]] = {
    "EVA001": (
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": 25.0, "train/roll/ep_rew_std": 20.0}),
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": RISING, "train/roll/ep_rew_std": 20.0}),
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
    "EVA007": (
        view(
            algo="bc", **{"bc/neglogp": np.exp(-STEPS / 9000), "val/roll/ep_rew_mean": 20 + NOISE}
        ),
        view(algo="bc", **{"bc/neglogp": np.exp(-STEPS / 9000), "val/roll/ep_rew_mean": RISING}),
    ),
    "EVA030": (
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": 25.0, "train/roll/ep_rew_std": 20.0}),
        view(ep_rew_mean=RISING, **{"val/roll/ep_rew_mean": RISING, "train/roll/ep_rew_std": 20.0}),
    ),
    "EXP001": (
        view(ep_rew_mean=FLAT, **{ENTROPY: 0.69 * np.exp(-STEPS / 5000)}),
        view(ep_rew_mean=RISING, **{ENTROPY: 0.69 * np.exp(-STEPS / 5000)}),
    ),
    "EXP002": (
        view(ep_rew_mean=FLAT, **{ENTROPY: 0.69}),
        view(ep_rew_mean=FLAT, **{ENTROPY: np.linspace(0.69, 0.4, T)}),
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
    "EXP017": (
        view(**{"train/loss/entropy": 0.2, ENTROPY: 0.6}),
        view(**{"train/loss/entropy": -0.006, ENTROPY: 0.6}),
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
    "MAC030": (
        view(**{"sys/time/collect": 1 + STEPS / 15_000, "sys/time/update": 1.0}),
        view(**{"sys/time/collect": 1 + STEPS / 15_000, "sys/time/update": 1 + STEPS / 15_000}),
    ),
    "MAC031": (
        view({"backend": "process"}, **{"sys/time/collect": 0.1}),
        view({"backend": "process"}, **{"sys/time/collect": 10.0}),
    ),
    "MAC033": (view(workers_busy=0.3), view(workers_busy=1.4)),
    "MAC032": (
        view(**{"val/roll/ep_len_mean": 500.0, "val/roll/episodes": np.full(T, 20.0)}),
        view(**{"val/roll/ep_len_mean": 50.0, "val/roll/episodes": np.full(T, 20.0)}),
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
    "PRO004": (
        view(ep_rew_mean=np.linspace(60, 10, T) + NOISE),
        view(ep_rew_mean=FLAT),
    ),
    "PRO006": (
        view(ep_rew_mean=RISING + 150 * np.sin(STEPS / 2000)),
        view(ep_rew_mean=RISING),
    ),
    "PRO008": (
        view(ep_rew_mean=np.where(STEPS < 40_000, RISING, 25 + NOISE)),
        view(ep_rew_mean=20 + 400 * np.exp(-(((STEPS - 25_000) / 15_000) ** 2)) + NOISE),
    ),
    "PRO009": (
        view(ep_rew_mean=FLAT, threshold=475.0),
        view(ep_rew_mean=RISING, threshold=475.0),
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
    "PRO012": (
        view(algo="mappo", win_rate=0.5 + 0.3 * np.sin(STEPS / 2000)),
        view(algo="mappo", win_rate=np.linspace(0.3, 0.9, T)),
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
    "PRO040": (view(ep_rew_mean=RISING), view(ep_rew_mean=FLAT)),
    "EVA031": (
        view(ep_rew_mean=RISING, **{VAL: 200.0 + STEPS / 1000, STD: 20.0}),
        view(ep_rew_mean=RISING, **{VAL: 40.0, STD: 20.0}),
    ),
    "EVA032": (
        view(ep_rew_mean=RISING, **{VAL: RISING[0], STD: 20.0}),
        view(ep_rew_mean=FLAT, **{VAL: RISING, STD: 20.0}),
    ),
    "EVA033": (
        view(ep_rew_mean=FLAT, **{VAL: 9.4, STD: 12.0}),
        view(ep_rew_mean=FLAT, **{VAL: 20.0 + 12.0 * NOISE, STD: 12.0}),
    ),
    "EXP031": (
        view(**{ENTROPY: np.linspace(1.4, 1.1, T)}),
        view(**{ENTROPY: np.linspace(1.4, 0.4, T)}),
    ),
    "EXP032": (
        view(**{ENTROPY: 0.8 + 0.2 * NOISE}),
        view(**{ENTROPY: np.linspace(1.4, 0.4, T)}),
    ),
    "EXP033": (
        view(algo="sac", **{ALPHA: np.linspace(1.0, 0.95, T)}),
        view(algo="sac", **{ALPHA: np.full(T, 1.0)}),  # which is not learned
    ),
    "PRO032": (
        view(episodes=episodes(np.repeat((20.0, 300.0), 30), 50.0, "terminated")),
        view(episodes=episodes(np.repeat((300.0, 20.0), 30), 50.0, "terminated")),
    ),
}
