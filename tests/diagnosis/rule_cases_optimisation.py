"""Rules of OPT, each with a run on which it fires and one that looks alike."""

from __future__ import annotations

import numpy as np
from rule_views import (
    FLAT,
    GRADIENT,
    MOVE,
    NOISE,
    NORM,
    RISING,
    STEADY,
    STEPS,
    SURER,
    T,
    view,
)

from dressage.runs.view import RunView

MOVED = "train/metrics/layers_moved/"
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
    "OPT020": (
        view(kl_divergence=np.where(STEPS < 6000, 0.8, 0.01)),
        view(kl_divergence=0.02),
    ),
    "OPT021": (
        view(algo="dqn", **{"train/metrics/weight_norm/q": np.where(STEPS < 40_000, 60.0, 14.0)}),
        view(algo="dqn", **{"train/metrics/weight_norm/q": np.linspace(14, 150, T)}),
    ),
    "OPT022": (
        view(clip_fraction=0.6, kl_divergence=1e-6),
        view(clip_fraction=0.6, kl_divergence=0.05),
    ),
    "OPT030": (
        view(**{f"{NORM}{net}": np.where(STEPS < 2500, 12.0, 60.0) for net in ("policy", "value")}),
        view(**{f"{NORM}policy": np.where(STEPS < 2500, 0.02, 0.5), f"{NORM}shared": 12.0}),
    ),
    "OPT031": (
        view(clip_fraction=0.9, kl_divergence=5.0),
        view(clip_fraction=0.9, kl_divergence=1e-6),
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
    "OPT040": (
        view(kl_divergence=0.005, ep_rew_mean=20 + 400 * np.exp(-STEPS / 9000) + NOISE, **SURER),
        view(kl_divergence=3.0, ep_rew_mean=20 + 400 * np.exp(-STEPS / 9000) + NOISE, **SURER),
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
    "OPT045": (
        view(**{"train/loss/policy": -0.02}),
        view(**{"train/loss/policy": np.linspace(-0.02, 0.0, T)}),
    ),
    "OPT046": (
        view(**{"train/loss/policy": -0.004}),
        view(**{"train/loss/policy": np.linspace(-0.004, 0.0, T)}),
    ),
    "OPT047": (
        view(**{"train/loss/policy": 2e-9}),
        view(**{"train/loss/policy": -2e-5}),
    ),
    "OPT048": (
        view(kl_divergence=2e-4),
        view(kl_divergence=np.where(STEPS < 20_000, 2e-3, 2e-4)),
    ),
    "OPT049": (
        view(**{f"{MOVED}policy": np.full(T, 4 / 6), f"{MOVED}value": np.ones(T)}),
        view(**{f"{MOVED}policy": np.zeros(T), f"{MOVED}value": np.where(STEPS < 50_000, 0.5, 1)}),
    ),
}
