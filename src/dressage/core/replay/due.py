"""When experience is learned from, and what is measured of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dressage.core.replay.coverage import coverage

if TYPE_CHECKING:
    from dressage.core.replay.replay import Replay
    from dressage.core.replay.settings import ReplaySettings

GAP_STEPS = 256  # of which values are compared with what really followed


def random_now(cfg: ReplaySettings, index: int, n_envs: int) -> bool:
    """Whether vector step `index` is still one of the random ones at the start."""
    return index * n_envs < cfg.learning_starts


def updates_due(memory: Replay, cfg: ReplaySettings) -> int:
    """How many updates follow the steps just added; none before `learning_starts`."""
    n_envs = memory.ring.n_envs
    if memory.ring.high * n_envs < cfg.learning_starts or not memory.ready:
        return 0
    return cfg.train_freq * n_envs if cfg.gradient_steps < 0 else cfg.gradient_steps


def replay_metrics(memory: Replay, place: Any, updates: int, cfg: ReplaySettings) -> Any:
    """Of the memory and of how often it is used; once a log interval."""
    found = memory.metrics(np.asarray(place)) | {
        "train/metrics/update_to_data": updates / (cfg.train_freq * memory.ring.n_envs)
    }
    if (share := coverage(memory.ring)) is not None:
        found["train/metrics/buffer_coverage"] = share
    return found


def error_quantiles(size: Any) -> dict[str, float]:
    """Of the absolute TD errors `[B]` of a batch, each the mean over critics or choices; once a log
    interval."""
    middle, high = np.quantile(np.asarray(size, np.float64), (0.5, 0.9))
    return {
        "train/metrics/td_error_p50": float(middle),
        "train/metrics/td_error_p90": float(high),
    }
