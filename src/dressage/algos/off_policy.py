"""What algorithms that learn from a replay memory share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dressage.core.replay import Replay, ReplaySettings
from dressage.core.steps import Steps, tree_map
from dressage.errors import ConfigError
from dressage.lazy import torch
from dressage.native.sum_tree import make_priorities

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dressage.core.learner import Learner
    from dressage.core.spec import TaskSpec

GAP_STEPS = 256  # of which values are compared with what really followed
UPDATE_METRICS = (
    "train/metrics/grad_norm/*",
    "train/metrics/grad_clipped",
    "train/metrics/skipped_updates",
    "train/metrics/update_to_weight/*",
    "train/metrics/weight_norm/*",
    "train/metrics/dormant_share/*",
)
VALUE_METRICS = (
    "train/metrics/q_mean",
    "train/metrics/q_max",
    "train/metrics/td_error_mean",
    "train/metrics/td_error_max",
    "train/metrics/target_drift",
    "train/metrics/buffer_fill",
    "train/metrics/buffer_age",
    "train/metrics/update_to_data",
)
VALUE_METRICS_AT_TIMES = ("train/metrics/q_gap", "train/metrics/priority_spread")


def check(cfg: ReplaySettings, n_envs: int) -> None:
    if cfg.buffer_size < n_envs:
        raise ConfigError(
            f"buffer_size={cfg.buffer_size} is less than one step of n_envs={n_envs} environments: "
            f"buffer_size={max(cfg.batch_size, n_envs)} or more."
        )
    if cfg.gradient_steps == 0:
        raise ConfigError("gradient_steps=0 never learns: 1 or more, or -1 for one an env step.")


def memory(cfg: Any) -> Replay:
    return Replay(cfg, make_priorities=make_priorities)


def rollout_length(cfg: ReplaySettings) -> int:
    return cfg.train_freq


def prepare(learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
    """Steps are kept as they are."""
    return steps, {}


def random_now(cfg: ReplaySettings, index: int, n_envs: int) -> bool:
    """Whether vector step `index` is still one of the random ones at the start."""
    return index * n_envs < cfg.learning_starts


def updates_due(memory: Replay, cfg: ReplaySettings) -> int:
    """How many updates follow the steps just added; none before `learning_starts`."""
    n_envs = memory.ring.n_envs
    if memory.ring.high * n_envs < cfg.learning_starts or not memory.ready:
        return 0
    return cfg.train_freq * n_envs if cfg.gradient_steps < 0 else cfg.gradient_steps


def tensor(learner: Learner, x: Any) -> Any:
    return tree_map(lambda leaf: torch.from_numpy(leaf).to(learner.device), x)


def td_metrics(q: Tensor, error: Tensor) -> dict[str, Tensor]:
    """Of the values `[B, …]` of what was done, and their TD errors."""
    size = error.detach().abs()
    return {
        "train/metrics/q_mean": q.detach().mean(),
        "train/metrics/q_max": q.detach().max(),
        "train/metrics/td_error_mean": size.mean(),
        "train/metrics/td_error_max": size.max(),
    }


def replay_metrics(memory: Replay, place: Any, updates: int, cfg: ReplaySettings) -> Any:
    """Of the memory and of how often it is used; once a log interval."""
    return memory.metrics(np.asarray(place)) | {
        "train/metrics/update_to_data": updates / (cfg.train_freq * memory.ring.n_envs)
    }


def bounded_actions(spec: TaskSpec) -> None:
    """Refuses actions that a squashed policy cannot reach."""
    action = spec.action
    if not np.isfinite(action.high - action.low).all():
        raise ConfigError(
            "This algorithm needs bounded actions, and this task has some without bounds: bound "
            "them in the environment's action space."
        )
    if not (np.all(action.low == -1) and np.all(action.high == 1)):
        raise ConfigError("This algorithm needs actions in [-1, 1]: leave scale_actions=true.")


@contextmanager
def frozen(net: nn.Module) -> Iterator[None]:
    """Gradients pass through `net` within, and are not computed for its own parameters."""
    parameters = list(net.parameters())
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
