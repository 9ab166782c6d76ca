"""Metrics that are the same for every algorithm: of experience, of hyperparameters, of updates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.config import Settings
from dressage.core.steps import Steps
from dressage.envs.spaces import ActionCodec
from dressage.lazy import torch
from dressage.math.dynamics import dynamics
from dressage.runs.metrics import aggregate_of

FEWEST_STEPS = 100  # in which a number that varies at all does so
UNCHANGED = 1e-6  # deviation of a number beside its size, below which it is always the same
SATURATED = 0.98  # share of the half range beyond which a continuous action counts as saturated


def combined(collected: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Metrics of an iteration's minibatches, kept as tensors until here: one read for all of them.

    Combined as the metric dictionary says: sum, max or min, and else the mean.
    """
    if not collected:
        return {}
    names: dict[str, list[Any]] = {}
    for metrics in collected:
        for name, value in metrics.items():
            names.setdefault(name, []).append(value)
    if all(type(value) is float for each in names.values() for value in each):  # no torch needed
        plain: dict[str, Any] = {"sum": math.fsum, "max": max, "min": min}
        return {name: plain.get(aggregate_of(name), fmean)(each) for name, each in names.items()}
    ways: dict[str, Any] = {"sum": torch.sum, "max": torch.max, "min": torch.min}
    values = [
        ways.get(aggregate_of(name), torch.mean)(torch.stack(list(map(torch.as_tensor, each))))
        for name, each in names.items()
    ]
    return dict(zip(names, torch.stack(values).tolist(), strict=True))


def experience_metrics(steps: Steps, action: ActionCodec) -> dict[str, float]:
    """Statistics of one collection: observations, rewards, actions."""
    metrics = {
        "train/roll/reward_mean": float(steps.reward.mean()),
        "train/roll/reward_std": float(steps.reward.std()),
    }
    vector = steps.obs.get("vector") if isinstance(steps.obs, dict) else steps.obs
    if vector is not None and vector.dtype == np.float32:
        metrics["train/roll/obs_mean"] = float(vector.mean())
        metrics["train/roll/obs_std"] = float(vector.std())
        metrics["train/roll/obs_abs_max"] = float(np.abs(vector).max())
    return metrics | action_metrics(steps.action, action)


def dynamics_metrics(steps: Steps, action: ActionCodec) -> dict[str, float]:
    """What recent steps say of the environment: see math/dynamics.py. Of images nothing."""
    obs = steps.obs.get("vector") if isinstance(steps.obs, dict) else steps.obs
    if obs is None or obs.dtype != np.float32 or obs.ndim != 3:
        return {}
    columns = [
        (steps.action[..., i, None] == np.arange(1, n)).astype(np.float32)
        for i, n in enumerate(action.categories)
    ]
    columns.append(steps.action[..., len(action.categories) :])
    ended = steps.terminated | steps.truncated
    with np.errstate(all="ignore"):  # of numbers beyond all bounds nothing is said
        found = dynamics(obs, np.concatenate(columns, axis=-1), steps.reward, ended)
    return {f"train/roll/{name}": value for name, value in found.items()}


def column_metrics(steps: Steps) -> dict[str, float]:
    """How unlike the numbers of an observation are: the largest deviation over the smallest, and
    the share of numbers that never change. Of images nothing, and of zeros and ones: a state or a
    switch that was not seen in a few hundred steps may be rare."""
    obs = steps.obs.get("vector") if isinstance(steps.obs, dict) else steps.obs
    if obs is None or obs.dtype != np.float32 or obs.ndim != 3 or obs[..., 0].size < FEWEST_STEPS:
        return {}
    if ((obs == 0.0) | (obs == 1.0)).all():
        return {}
    with np.errstate(all="ignore"):
        deviation = obs.std(axis=(0, 1), dtype=np.float64)
        varies = deviation > UNCHANGED * (1.0 + np.abs(obs).max(axis=(0, 1)))
    metrics = {"train/roll/obs_constant_share": float(1.0 - varies.mean())}
    if varies.sum() > 1 and np.isfinite(deviation).all():
        ratio = deviation[varies].max() / deviation[varies].min()
        metrics["train/roll/obs_scale_ratio"] = float(ratio)
    return metrics


def action_metrics(actions: npt.NDArray[np.float32], codec: ActionCodec) -> dict[str, float]:
    """How choices are spread (of the most lopsided choice), and how far dimensions saturate."""
    metrics: dict[str, float] = {}
    if codec.categories:
        shares = [
            np.bincount(actions[..., i].ravel().astype(np.int64), minlength=n)
            / actions[..., i].size
            for i, n in enumerate(codec.categories)
        ]
        entropies = [float(-(p[p > 0] * np.log(p[p > 0])).sum()) for p in shares]
        metrics["train/roll/action_share_max"] = max(float(p.max()) for p in shares)
        metrics["train/roll/action_entropy"] = float(np.mean(entropies))
    if codec.continuous:
        x = actions[..., len(codec.categories) :]
        metrics["train/roll/action_mean"] = float(x.mean())
        metrics["train/roll/action_std"] = float(x.std(axis=(0, 1)).mean())
        half, middle = (codec.high - codec.low) / 2, (codec.high + codec.low) / 2
        with np.errstate(invalid="ignore"):  # no bound, no middle, no saturation
            beyond = np.abs(x - middle) >= SATURATED * half
        metrics["train/roll/action_saturation"] = float(beyond.mean())
    return metrics


def hyperparameter_metric(setting: str) -> str:
    """The metric that tells a setting in force."""
    short = {"learning_rate": "lr", "value_learning_rate": "value_lr"}
    return f"train/hp/{short.get(setting, setting)}"


def hyperparameters_in_force(cfg: Settings, metrics: Mapping[str, str]) -> dict[str, float]:
    """By the names that `metrics` has for some settings; one that is off, or learned (`auto`), has
    no cell. What another setting overrules counts as that makes it."""
    found = {
        setting: float(value)
        for setting in metrics
        if isinstance(value := getattr(cfg, setting), (int, float))
    }
    if "noise_std" in found and getattr(cfg, "action_noise", "") == "none":
        found["noise_std"] = 0.0
    return {metrics[setting]: value for setting, value in found.items()}
