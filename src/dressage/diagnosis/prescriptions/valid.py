"""Whether a patch can be followed: values within their ranges, batches that divide the rollout.

The whole schema is not asked: importing it would take longer than the diagnosis. A test holds these
ranges against it.
"""

from __future__ import annotations

from typing import Any

from dressage.diagnosis.prescriptions.fix import Patch, same, whole
from dressage.math.schedules import at, parse_schedule
from dressage.runs.view import RunView

# Lowest and highest value that makes sense, both allowed.
RANGES: dict[str, tuple[float, float]] = {
    "learning_rate": (1e-7, 1.0),
    "value_learning_rate": (1e-7, 1.0),
    "gamma": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip_range": (1e-4, 10.0),
    "batch_size": (2, 1e7),
    "n_steps": (2, 1e7),
    "n_epochs": (1, 1000),
    "buffer_size": (2, 1e9),
    "learning_starts": (0, 1e9),
    "target_update_interval": (1, 1e9),
    "tau": (1e-6, 1.0),
    "noise_std": (0.0, 10.0),
    "env_steps": (1, 1e12),
    "max_grad_norm": (1e-9, 1e12),
    "target_kl": (1e-6, 10.0),
    "vf_coef": (0.0, 1e6),
    "weight_decay": (0.0, 10.0),
    "optimizer_eps": (1e-12, 1.0),
}


def valid(run: RunView, patch: Patch) -> Patch:
    """The patch without what changes nothing, with batches that divide the rollout; empty if a
    value lies outside its range."""
    if any(not _in_range(name, value) for name, value in patch.items()):
        return {}
    patch = _changes(run, patch)
    touched = {"n_steps", "batch_size", "n_envs"} & patch.keys()
    if touched and run.family == "on-policy" and run.algo == "ppo":
        patch = patch | _dividing(run, patch)
    return _changes(run, patch)


def _changes(run: RunView, patch: Patch) -> Patch:
    return {k: v for k, v in patch.items() if k not in run.config or not same(run.config[k], v)}


def _in_range(name: str, value: Any) -> bool:
    if name not in RANGES or value is None:
        return True
    low, high = RANGES[name]
    start = at(parse_schedule(value), 0.0) if isinstance(value, str) else float(value)
    return low <= start <= high


def _dividing(run: RunView, patch: Patch) -> Patch:
    """The nearest batch size that divides the rollout, where the rollout is known."""
    n_steps = int(patch.get("n_steps", whole(run, "n_steps", 0)))
    n_envs = int(patch.get("n_envs", whole(run, "n_envs", 0)))
    batch = int(patch.get("batch_size", whole(run, "batch_size", 0)))
    total = n_steps * n_envs
    if total < 2 or batch < 2 or total % batch == 0:
        return {}
    divisors = {d for i in range(1, int(total**0.5) + 1) if total % i == 0 for d in (i, total // i)}
    return {"batch_size": min((d for d in divisors if d > 1), key=lambda d: abs(d - batch))}
