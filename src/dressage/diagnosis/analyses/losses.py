"""Losses by component, and whose gradients the optimizer mostly followed.

A loss's size says little about its gradient: PPO's policy loss is near zero because advantages are
normalised. So the share of the signal is that of gradient norms where the log has them by network,
and otherwise that of the losses as weighted in their sum, marked as such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dressage.diagnosis.analyses.gradients import GRADIENTS, networks
from dressage.diagnosis.look import part
from dressage.errors import ConfigError
from dressage.math.schedules import at, parse_schedule
from dressage.runs.table import Array
from dressage.runs.view import RunView, Series

LOSSES = "train/loss/"
WEIGHTS = {"value": "vf_coef"}  # the entropy loss is logged as weighted


@dataclass(frozen=True)
class Component:
    name: str
    first: float  # median in the first fifth of the run
    last: float  # and in the last
    weight: float  # in the sum that is minimised; nan where not known
    size: float  # median size times its weight


@dataclass(frozen=True)
class Signal:
    """How much of the gradient each network or component made up."""

    source: Literal["gradient norms", "weighted losses", "not known"]
    shares: dict[str, float]  # over the whole run, summing to 1
    first: dict[str, float]  # in the first fifth
    last: dict[str, float]


@dataclass(frozen=True)
class Losses:
    components: list[Component]
    signal: Signal


def losses(run: RunView) -> Losses:
    names = [n for n in run.series if n.startswith(LOSSES) and n != f"{LOSSES}total"]
    components = [_component(run, name) for name in names]
    norms = {name.removeprefix(GRADIENTS): run[name] for name in networks(run)}
    if len(norms) > 1:
        return Losses(components, _signal("gradient norms", norms))
    weighted = {
        component.name: Series(series.env_steps, component.weight * np.abs(series.values))
        for component in components
        if math.isfinite(component.weight) and (series := run[f"{LOSSES}{component.name}"])
    }
    if run.family == "on-policy" and len(weighted) > 1:
        return Losses(components, _signal("weighted losses", weighted))
    return Losses(components, Signal("not known", {}, {}, {}))


def _component(run: RunView, metric: str) -> Component:
    name = metric.removeprefix(LOSSES)
    weight = 1.0
    if name in WEIGHTS and run.family == "on-policy":
        weight = _setting(run, WEIGHTS[name])
    size = float(np.median(np.abs(values))) if len(values := part(run[metric])) else math.nan
    first, last = _middle(part(run[metric], 0.0, 0.2)), _middle(part(run[metric], 0.8, 1.0))
    return Component(name, first, last, weight, weight * size)


def _setting(run: RunView, name: str) -> float:
    try:
        return float(at(parse_schedule(run.config[name]), 0.0))
    except (ConfigError, KeyError, TypeError, ValueError):
        return math.nan


def _middle(values: Array) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _signal(
    source: Literal["gradient norms", "weighted losses"], series: dict[str, Series]
) -> Signal:
    parts = ((0.0, 1.0), (0.0, 0.2), (0.8, 1.0))
    return Signal(source, *(_shares(series, begin, end) for begin, end in parts))


def _shares(series: dict[str, Series], begin: float, end: float) -> dict[str, float]:
    sizes = {name: _middle(part(one, begin, end)) for name, one in series.items()}
    total = sum(size for size in sizes.values() if math.isfinite(size))
    if not total > 0:
        return {}
    return {name: size / total for name, size in sizes.items() if math.isfinite(size)}
