"""What an algorithm learns from, checked against what was collected: a second, independent sum.

An algorithm of one's own may lose ends of episodes, mix up successors, shift returns or turn the
advantage's sign round, and train on without an error. These figures are exact where nothing is
wrong: 1, 1, 1, 0 (but for rounding) and 1. A few times a run, in well under a millisecond each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dressage.core.steps import Steps, Tree

Floats = npt.NDArray[np.floating]
Flags = npt.NDArray[np.bool_]

KEPT, ENDS_KEPT = "train/metrics/steps_kept", "train/metrics/ends_kept"
ADVANTAGES_FIT = "train/metrics/advantages_fit"
RETURNS_ERROR = "train/metrics/returns_error"
MOVED, STEPPED = "train/metrics/layers_moved/", "train/metrics/grad_norm/"  # and a chunk's name
ROUNDING = 1e-3  # of the returns' deviation: smaller rewards are lost in its float32


def kept_metrics(collected: Steps, learned: Steps, cfg: Any) -> dict[str, float]:
    """Of steps `[T, N, …]` before `prepare` and after it: the share whose observation, action,
    reward and successor are the same, and of those that end an episode the share whose ends are.

    A bonus for exploring is part of the reward that is learned from; rewards are not compared then.
    """
    same = _same(collected.obs, learned.obs) & _same(collected.next_obs, learned.next_obs)
    same = same & _same(collected.action, learned.action)
    if getattr(cfg, "bonus", "none") in (None, "none"):
        same = same & (collected.reward == learned.reward)
    metrics = {KEPT: float(same.mean())}
    ends = [steps.terminated | steps.truncated for steps in (collected, learned)]
    if (at := ends[0] | ends[1]).any():
        alike = (collected.terminated == learned.terminated) & (ends[0] == ends[1])
        metrics[ENDS_KEPT] = float(alike[at].mean())
    return metrics


def advantage_metrics(learned: Steps, cfg: Any) -> dict[str, float]:
    """Of a rollout `[T, N]` with `value`, `returns` and `advantage`; nothing of others.

    - `advantages_fit`: the correlation of advantages with returns less values;
    - `returns_error`: how far returns are from r + gamma ((1 - lambda) V' + lambda R') of the next
      row, root mean square, beside that of the rewards.
    """
    x = learned.extras
    if not {"value", "returns", "advantage"} <= x.keys():
        return {}
    has_baseline = getattr(cfg, "baseline", True)
    value = np.asarray(x["value"] if has_baseline else np.zeros_like(x["returns"]), np.float64)
    returns, advantage = (np.asarray(x[k], np.float64) for k in ("returns", "advantage"))
    counted = np.asarray(x.get("weight", np.ones_like(returns))) > 0.0
    found: dict[str, float] = {}
    with np.errstate(all="ignore"):  # what is not finite is told by others
        expected = (returns - value)[counted]
        spread, own = (float(part.std()) if part.size else 0.0
                       for part in (expected, advantage[counted]))  # fmt: skip
        if spread > 1e-6 * (1.0 + np.abs(returns).max(initial=0.0)):
            both = float(np.mean((expected - expected.mean()) * advantage[counted]))
            found[ADVANTAGES_FIT] = both / (spread * own) if own > 1e-12 else 0.0
        goes_on = ~(learned.terminated | learned.truncated)[:-1]
        discount, trace = float(cfg.gamma), float(getattr(cfg, "gae_lambda", 1.0))
        ahead = (1.0 - trace) * value[1:] + trace * returns[1:]
        error = (returns[:-1] - learned.reward[:-1] - discount * ahead)[goes_on]
        size = _size(learned.reward) + ROUNDING * float(returns.std())
        if error.size and size > 0.0:
            found[RETURNS_ERROR] = _size(error) / size
    return {name: number for name, number in found.items() if np.isfinite(number)}


def moved_metrics(
    before: Mapping[str, Sequence[Floats]],
    after: Mapping[str, Sequence[Floats]],
    updated: Mapping[str, float],
) -> dict[str, float]:
    """Of the weights of each chunk before and after an iteration's updates, array by array: the
    share of arrays in which any number is another. Of a chunk that no update stepped nothing:
    `updated`, the metrics of the updates, has no norm of its gradient."""
    return {
        f"{MOVED}{chunk}": float(
            np.mean([(a != b).any() for a, b in zip(old, after[chunk], strict=True)])
        )
        for chunk, old in before.items()
        if old and f"{STEPPED}{chunk}" in updated
    }


def _size(x: Floats) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64))))


def _same(a: Tree | None, b: Tree | None) -> Flags | np.bool_:
    """Of each step `[T, N]`: whether all its numbers are equal."""
    if a is None or b is None:
        return np.True_
    if isinstance(a, dict) and isinstance(b, dict):
        of_each: Flags = np.logical_and.reduce([_same(a[key], b[key]) for key in a])
        return of_each
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape:
        return np.zeros(x.shape[:2], np.bool_)
    equal: Flags = (x == y).reshape(*x.shape[:2], -1).all(axis=-1)
    return equal
