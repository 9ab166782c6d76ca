"""What algorithms that learn from a replay memory share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dressage.core.replay import DemonstratedReplay, Replay, ReplaySettings
from dressage.core.replay.due import GAP_STEPS as GAP_STEPS
from dressage.core.replay.due import error_quantiles as error_quantiles
from dressage.core.replay.due import random_now as random_now
from dressage.core.replay.due import replay_metrics as replay_metrics
from dressage.core.replay.due import updates_due as updates_due
from dressage.core.spec import bounded_actions as bounded_actions
from dressage.core.steps import Steps, tree_map
from dressage.errors import ConfigError
from dressage.explore import bonus
from dressage.lazy import torch
from dressage.native.sum_tree import make_priorities

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dressage.core.learner import Learner

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
    "train/metrics/td_error_p50",
    "train/metrics/td_error_p90",
    "train/metrics/target_drift",
    "train/metrics/buffer_fill",
    "train/metrics/buffer_age",
    "train/metrics/update_to_data",
)
VALUE_METRICS_AT_TIMES = (
    "train/metrics/q_gap",
    "train/metrics/priority_spread",
    "train/metrics/buffer_coverage",
    *bonus.METRICS,
)


def check(cfg: ReplaySettings, n_envs: int) -> None:
    if cfg.buffer_size < n_envs:
        raise ConfigError(
            f"buffer_size={cfg.buffer_size} is less than one step of n_envs={n_envs} environments: "
            f"buffer_size={max(cfg.batch_size, n_envs)} or more."
        )
    if cfg.gradient_steps == 0:
        raise ConfigError("gradient_steps=0 never learns: 1 or more, or -1 for one an env step.")
    if cfg.n_step > 1 and cfg.her != "none":
        raise ConfigError(
            f"her={cfg.her} and n_step={cfg.n_step} do not go together, since the actions after a "
            "step were chosen for another goal: n_step=1."
        )
    if cfg.n_step > 1 and bonus.kind_of(cfg) is not None:
        raise ConfigError(
            f"bonus and n_step={cfg.n_step} do not go together, since the bonuses of the steps in "
            "between are not known: n_step=1."
        )


def memory(cfg: Any) -> Replay:
    kind = Replay if cfg.demonstrations is None else DemonstratedReplay
    return kind(cfg, make_priorities=make_priorities)


def rollout_length(cfg: ReplaySettings) -> int:
    return cfg.train_freq


def prepare(learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
    """Steps are kept as they are."""
    return steps, {}


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
