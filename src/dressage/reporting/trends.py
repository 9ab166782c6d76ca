"""How a metric went over a run: its parts, its trend, and whether it ends in its healthy range."""

from __future__ import annotations

import fnmatch
import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dressage.math.summary import mann_kendall, theil_sen_slope
from dressage.reporting.document import Floats, Spark
from dressage.runs.metrics import METRICS, NO_RANGE, Metric, describe

BLOCKS = 20  # neighbouring rows share episodes and batches: means of blocks are nearer independence
FEWEST = 8  # points, below which Mann-Kendall cannot reach the level
LEVEL = 0.01
BARS = "▁▂▃▄▅▆▇█"
FAMILIES = [name for name in METRICS if "*" in name]
_NUMBER = r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\d.]*\s*%)"
_BETWEEN = re.compile(rf"{_NUMBER} to {_NUMBER}")
_WITHIN = re.compile(rf"within ±{_NUMBER}")
_BOUND = re.compile(rf"(?:, )?(below|above|at most|at least)(?: about)? {_NUMBER}")


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    guess: bool  # without a source


def numeric_range(healthy: str) -> Range | None:
    """The numbers that a healthy range begins with, if it does: "0.05 to 0.2 [GS]; above …"."""
    head, guess = healthy.partition(";")[0], "guess" in healthy
    if head.strip() == "0":
        return Range(0.0, 0.0, guess)
    if match := _BETWEEN.match(head):
        return Range(float(match[1]), float(match[2]), guess)
    if match := _WITHIN.match(head):
        return Range(-float(match[1]), float(match[1]), guess)
    low, high, at = -math.inf, math.inf, 0
    while match := _BOUND.match(head, at):
        at = match.end()
        if match[1] in ("below", "at most"):
            high = float(match[2])
        else:
            low = float(match[2])
    return Range(low, high, guess) if at else None


def known_metric(name: str) -> Metric | None:
    """The dictionary's entry, None for a metric of the user's own."""
    # Asked first: `describe` searches for the nearest name before it gives up, which takes 10 ms.
    known = name in METRICS or any(fnmatch.fnmatchcase(name, family) for family in FAMILIES)
    return describe(name) if known else None


def healthy_text(metric: Metric | None) -> str:
    return "" if metric is None or metric.healthy == NO_RANGE else metric.healthy


@dataclass(frozen=True)
class Course:
    """One metric over the run. Parts are means over a tenth of its measurements each."""

    first: float
    middle: float
    last: float
    trend: Literal["rises", "falls", "no clear trend", "constant", "too few rows"]
    change: float  # Theil-Sen slope times the length of the run
    not_finite: int


def course(values: Floats) -> Course:
    """`values` as measured, without nan for "not measured"; infinities are counted apart."""
    finite = values[np.isfinite(values)]
    lost, count = len(values) - len(finite), len(finite)
    if not count:
        return Course(math.nan, math.nan, math.nan, "too few rows", math.nan, lost)
    tenth = max(1, math.ceil(count / 10))
    begin = (count - tenth) // 2
    parts = (finite[:tenth], finite[begin : begin + tenth], finite[-tenth:])
    first, middle, last = (float(part.mean()) for part in parts)
    if count > 1 and not np.ptp(finite):
        return Course(first, middle, last, "constant", 0.0, lost)
    if count < FEWEST:
        return Course(first, middle, last, "too few rows", math.nan, lost)
    blocks = block_means(finite, BLOCKS)
    test = mann_kendall(blocks)
    slope = theil_sen_slope(blocks)
    if test.p >= LEVEL or slope == 0:
        return Course(first, middle, last, "no clear trend", math.nan, lost)
    change = slope * (len(blocks) - 1)
    return Course(first, middle, last, "rises" if change > 0 else "falls", change, lost)


def verdict(value: float, allowed: Range | None) -> Literal["", "inside", "below", "above"]:
    if allowed is None or not math.isfinite(value):
        return ""
    return "below" if value < allowed.low else "above" if value > allowed.high else "inside"


def block_means(values: Floats, blocks: int) -> Floats:
    """At most `blocks` means over neighbours, as equal in number as can be."""
    count = min(blocks, len(values))
    if count == 0:
        return values
    edges = np.linspace(0, len(values), count + 1).astype(np.int64)
    means: Floats = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
    return means


def sparkline(values: Floats, width: int = 20) -> Spark:
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return Spark("", [])
    means = block_means(finite, width)
    low, span = float(means.min()), float(np.ptp(means))
    if not span > 0 or not math.isfinite(span):
        return Spark(BARS[3] * len(means), [0.5] * len(means))
    shares = ((means - low) / span).tolist()
    return Spark("".join(BARS[round(7 * share)] for share in shares), shares)


def rises_at_the_end(x: Floats, y: Floats, share: float = 0.3) -> tuple[float, float] | None:
    """Whether raw episode returns still rise in the last `share` of the env steps.

    Gives (gain over that part, p), or None. Episodes, unlike the mean over the last 100, are not
    smoothed, so the test keeps its level; a gain below 2 % of the run's range is not worth a word.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 2 * FEWEST:
        return None
    late = x >= x[-1] - share * x[-1]
    if late.sum() < FEWEST:
        return None
    test = mann_kendall(y[late])
    gain = theil_sen_slope(y[late], x[late]) * float(np.ptp(x[late]))
    if test.p < LEVEL and test.z > 0 and gain > 0.02 * float(np.ptp(y)):
        return gain, test.p
    return None
