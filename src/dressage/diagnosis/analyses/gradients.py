"""Gradient norms phase by phase, and how often they were clipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dressage.diagnosis.analyses.phases import Phase
from dressage.runs.table import Array
from dressage.runs.view import RunView, Series

GRADIENTS = "train/metrics/grad_norm/"
CLIPPED = "train/metrics/grad_clipped"


@dataclass(frozen=True)
class Norms:
    """Of one network in one phase: quantiles of the logged norms, before clipping."""

    network: str
    phase: str
    begin: float  # env steps
    end: float
    low: float  # the tenth percentile
    median: float
    high: float  # the ninetieth
    largest: float
    clipped: float  # share of the updates in this phase; nan where not known


@dataclass(frozen=True)
class Gradients:
    norms: list[Norms]
    clipped: float  # over the whole run; nan where not known
    bound: float | None  # max_grad_norm
    not_finite: int  # logged norms that are NaN or infinite


def gradients(run: RunView, phases: Sequence[Phase]) -> Gradients:
    """`phases`: those of the learning curve; the whole run where there are none."""
    bound = _bound(run)
    spans: list[tuple[str, float, float]] = [(p.kind, p.begin, p.end) for p in phases]
    spans = spans or [("whole run", -math.inf, math.inf)]
    spans[-1] = (*spans[-1][:2], math.inf)  # each has its beginning, the last its end as well
    made: list[Norms] = []
    lost = 0
    names = networks(run)
    for name in names:
        series = run[name]
        lost += int((~np.isfinite(series.values)).sum())
        for kind, begin, end in spans:
            values = _within(series, begin, end)
            if not len(values):
                continue
            low, median, high = (float(q) for q in np.quantile(values, (0.1, 0.5, 0.9)))
            made.append(
                Norms(
                    name.removeprefix(GRADIENTS), kind, *_ends(series, begin, end), low, median,
                    high, float(values.max()), clipped_share(run, begin, end, values, bound),
                )
            )  # fmt: skip
    every = [_within(run[name], -math.inf, math.inf) for name in names]
    largest = max(every, key=lambda values: float(np.median(values)) if len(values) else 0.0,
                  default=np.empty(0))  # fmt: skip
    whole = clipped_share(run, -math.inf, math.inf, largest, bound)
    return Gradients(made, whole, bound, lost)


def networks(run: RunView) -> list[str]:
    """The metrics of norms by network; that of all together where it is the only one."""
    names = [name for name in run.series if name.startswith(GRADIENTS)]
    return [name for name in names if not name.endswith("/total")] or names


def clipped_share(
    run: RunView, begin: float, end: float, norms: Array, bound: float | None
) -> float:
    """As logged; where that is not, the share of logged norms above the bound."""
    logged = _within(run[CLIPPED], begin, end)
    if len(logged):
        return float(logged.mean())
    if bound is None or not len(norms):
        return math.nan
    return float((norms > bound).mean())


def _within(series: Series, begin: float, end: float) -> Array:
    steps = series.env_steps
    values: Array = series.values[(steps >= begin) & (steps < end) & np.isfinite(series.values)]
    return values


def _ends(series: Series, begin: float, end: float) -> tuple[float, float]:
    return max(begin, float(series.env_steps[0])), min(end, float(series.env_steps[-1]))


def _bound(run: RunView) -> float | None:
    value = run.config.get("max_grad_norm")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None
