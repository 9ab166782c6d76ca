"""Rules of VAL, each with a run on which it fires and one that looks alike."""

from __future__ import annotations

import numpy as np
from rule_views import FLAT, MOVE, RISING, STEADY, STEPS, T, episodes, view

from dressage.runs.view import RunView

PAID = episodes(100.0 + np.arange(60) % 7, 100.0, "terminated")  # about one a step

CASES: dict[str, tuple[RunView, RunView]] = {
    "VAL001": (
        view(explained_variance=-0.1, ep_rew_mean=FLAT),
        view(explained_variance=-0.1, ep_rew_mean=np.full(T, -200.0)),
    ),
    "VAL002": (view(**{"train/loss/value": 1e5}), view(**{"train/loss/value": 30.0})),
    "VAL003": (
        view(algo="dqn", q_mean=np.exp(STEPS / 6000)),
        view(algo="dqn", q_mean=100 * (1 - np.exp(-STEPS / 6000))),
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
    "VAL017": (view(value_clip_fraction=0.9), view(value_clip_fraction=0.1)),
    "VAL018": (
        view(**{"train/loss/policy": -40.0}),
        view(algo="reinforce", **{"train/loss/policy": -40.0}),
    ),
    "VAL019": (
        view(algo="cql", value_scale=np.exp(STEPS / 6000), **{"val/roll/ep_rew_mean": 20.0}),
        view(algo="cql", value_scale=15.0, **{"val/roll/ep_rew_mean": 20.0}),
    ),
    "VAL020": (
        view(algo="cql", conservative_loss=900.0, critic_loss=1.0),
        view(algo="cql", conservative_loss=3.0, critic_loss=1.0),
    ),
    "VAL021": (
        view(algo="gail", **{"mean/disc/disc_acc": 0.999}),
        view(algo="gail", **{"mean/disc/disc_acc": 0.7}),
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
    "VAL040": (
        view(algo="sac", td_error_mean=3.0, reward_std=4.0, reward_mean=-6.0, ep_rew_mean=FLAT),
        view(algo="sac", td_error_mean=0.8, reward_std=4.0, reward_mean=-6.0, ep_rew_mean=FLAT),
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
    "VAL046": (
        view(algo="sac", **{"train/loss/critic": 1.0}),
        view(algo="sac", **{"train/loss/critic": np.exp(-STEPS / 10_000)}),
    ),
    "VAL047": (
        view(algo="td3", episodes=PAID, **{"train/loss/critic": 900.0}),
        view(algo="td3", episodes=PAID, **{"train/loss/critic": 9.0}),
    ),
    "VAL048": (
        view(algo="td3", episodes=PAID, **{"train/loss/actor": -900.0}),
        view(algo="td3", episodes=PAID, **{"train/loss/actor": -90.0}),
    ),
    "VAL050": (
        view(algo="sac", episodes=PAID, **{"train/loss/critic": 9.0}),
        view(algo="sac", episodes=PAID, **{"train/loss/critic": 1.0}),
    ),
    "VAL051": (
        view(algo="sac", ep_rew_mean=FLAT, episodes=PAID, **{"train/loss/critic": 0.01}),
        view(algo="sac", ep_rew_mean=FLAT, episodes=PAID, **{"train/loss/critic": 0.1}),
    ),
    "VAL052": (view(advantages_fit=-0.8), view(advantages_fit=0.9)),
    "VAL053": (view(advantages_fit=0.05), view(advantages_fit=-0.8)),
    "VAL054": (view(returns_error=1.4), view(returns_error=1e-6)),
}
