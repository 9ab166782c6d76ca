"""Env steps to the threshold, beside what a reference needed on the same task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dressage.diagnosis.registry import all_rules
from dressage.math.summary import interquartile_mean
from dressage.presets import Preset, find_preset
from dressage.runs.table import Array
from dressage.runs.view import RunView, Series

OTHER_REWARD = "ENV010"  # the rule that finds a reward which is not the environment's


@dataclass(frozen=True)
class Reference:
    """What the preset of this environment and algorithm reached, and where that is recorded."""

    env_steps: float  # its whole budget: it needed at most these
    iqm: float  # interquartile mean of its seeds' held-out returns
    worst: float
    seeds: int
    reached: int | None  # seeds at or above the target; None without one
    source: str


@dataclass(frozen=True)
class Reach:
    target: float | None  # the return that counts as solved
    target_source: str
    training: float | None  # env steps at which the mean of training episodes reached it
    evaluation: float | None  # and an evaluation
    env_steps: float  # done
    best: float | None  # highest return seen, of evaluations where there are any
    reference: Reference | None
    comparable: bool = True  # no: the logged reward is not the environment's own

    @property
    def first(self) -> float | None:
        """Env steps at which either reached it first."""
        known = [steps for steps in (self.training, self.evaluation) if steps is not None]
        return min(known, default=None)


def reach(run: RunView, preset: Preset | None = None) -> Reach:
    """`preset`: taken instead of the shipped one of this environment and algorithm."""
    if all_rules()[OTHER_REWARD].look(run)[1] is not None:
        return Reach(None, "", None, None, run.env_steps, None, None, comparable=False)
    if preset is None and run.env and run.algo:
        preset = find_preset(run.env, run.algo)
    earned = preset.earned if preset is not None else {}
    returns = _returns(earned)
    target, source = run.threshold, "the environment's threshold"
    if target is None and len(returns):
        target, source = float(returns.min()), "the reference's worst seed"
    training, evaluation = run["train/roll/ep_rew_mean"], run["val/roll/ep_rew_mean"]
    reference = None
    if preset is not None and len(returns):
        reference = Reference(
            env_steps=float(preset.settings.get("env_steps", 0.0)),
            iqm=float(interquartile_mean(returns)),
            worst=float(returns.min()),
            seeds=len(returns),
            reached=None if target is None else int((returns >= target).sum()),
            source=f"preset of {preset.env} with {preset.algo}, {earned.get('date', 'undated')}",
        )
    return Reach(
        target=target,
        target_source=source if target is not None else "",
        training=first_at(training, target),
        evaluation=first_at(evaluation, target),
        env_steps=run.env_steps,
        best=highest(evaluation if evaluation else training),
        reference=reference,
    )


def first_at(series: Series, target: float | None) -> float | None:
    """The env steps at which a series first is at or above a value."""
    if target is None or not series:
        return None
    at = np.flatnonzero(series.values >= target)
    return float(series.env_steps[at[0]]) if len(at) else None


def highest(series: Series) -> float | None:
    finite = series.values[np.isfinite(series.values)]
    return float(finite.max()) if len(finite) else None


def _returns(earned: Mapping[str, Any]) -> Array:
    return np.array([float(value) for value in earned.get("returns", ())], np.float64)
