"""Rules of DAT, ENV, each with a run on which it fires and one that looks alike."""

from __future__ import annotations

import numpy as np
from rule_views import ALPHA, ENTROPY, FLAT, NOISE, STEPS, T, episodes, view

from dressage.runs.view import RunView

CASES: dict[str, tuple[RunView, RunView]] = {
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
    "DAT011": (
        view(algo="bc", spec={"action_space": "Discrete(4)"}, **{"bc/prob_true_act": 0.26}),
        view(algo="bc", spec={"action_space": "Discrete(4)"}, **{"bc/prob_true_act": 0.9}),
    ),
    "DAT012": (
        view(algo="dagger", beta=np.ones(T)),
        view(algo="dagger", beta=np.maximum(0, 1 - STEPS / 15_000)),
    ),
    "DAT013": (
        view(algo="dqn", buffer_fill=(STEPS % 40_000) / 60_000),
        view(algo="dqn", buffer_fill=STEPS / 60_000),
    ),
    "DAT014": (
        view(algo="dqn", buffer_age=STEPS / 2 * (1 + 0.577 / np.sqrt(4) * NOISE)),
        view(algo="dqn", buffer_age=STEPS / 2 * (1 + 0.577 / np.sqrt(64) * NOISE)),
    ),
    "DAT030": (
        view(algo="dqn", buffer_age=STEPS + 500),
        view(algo="dqn", buffer_age=STEPS / 2),
    ),
    "DAT032": (view(updates=STEPS % 20_000), view(updates=STEPS / 20)),
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
    "ENV001": (view(reward_std=300.0), view(reward_std=1.5)),
    "ENV002": (view(obs_abs_max=900.0), view(obs_abs_max=4.0)),
    "ENV003": (view(obs_std=1e-5), view(obs_std=0.3)),
    "ENV004": (view(reward_std=1e-4, reward_mean=1e-4), view(reward_std=0.5, reward_mean=0.0)),
    "ENV005": (
        view(ep_rew_mean=np.full(T, -200.0), **{"train/roll/ep_rew_std": np.zeros(T)}),
        view(ep_rew_mean=FLAT, **{"train/roll/ep_rew_std": 12.0}),
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
    "ENV011": (
        view(episodes=episodes(NOISE, 50, "truncated")),
        view(episodes=episodes(NOISE, 500, "truncated")),
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
    "ENV040": (
        view(action_effect=0.2, action_effect_late=0.05),
        view(action_effect=0.02, action_effect_late=0.95),
    ),
    "ENV041": (
        view(action_effect=0.02, action_effect_late=0.9),
        view(action_effect=0.9, action_effect_late=0.9),
    ),
    "ENV042": (
        view(history_gain=0.8, action_effect=0.05),
        view(history_gain=0.8, action_effect=0.9),
    ),
    "ENV043": (view(reward_explained=0.02), view(reward_explained=0.9)),
    "DAT015": (view(steps_kept=0.2), view(steps_kept=np.ones(T))),
    "DAT016": (view(ends_kept=0.05), view(ends_kept=np.ones(T))),
    "ENV045": (
        view(reward_mean=-0.8, ep_rew_mean=FLAT, ep_len_mean=FLAT),
        view(reward_mean=0.8, ep_rew_mean=FLAT, ep_len_mean=FLAT),
    ),
    "ENV046": (
        view(reward_mean=1000.0, ep_rew_mean=FLAT, ep_len_mean=FLAT),
        view(reward_mean=9.0, ep_rew_mean=0.02 * FLAT, ep_len_mean=FLAT),
    ),
    "ENV047": (
        view(reward_mean=NOISE, ep_rew_mean=FLAT, ep_len_mean=FLAT),
        view(reward_mean=NOISE + 1.5, ep_rew_mean=FLAT, ep_len_mean=FLAT),
    ),
    "ENV048": (view(obs_constant_share=0.5), view(obs_constant_share=0.05)),
    "ENV049": (view(obs_scale_ratio=1e6), view(obs_scale_ratio=90.0)),
    "ENV050": (
        view(action_effect=np.where(STEPS < 2500, 0.05, 0.9)),
        view(action_effect=np.where(STEPS < 2500, 0.9, 0.05)),
    ),
    "ENV051": (view(reward_late=0.5), view(reward_late=0.02)),
    "ENV044": (
        view(action_effect=0.02, action_effect_late=0.05, history_gain=0.0),
        view(action_effect=0.02, action_effect_late=0.95, history_gain=0.0),
    ),
}
