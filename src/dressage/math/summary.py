"""Statistics of a few values (seeds, episodes) and of one series (a metric over a run).

Without scipy: importing even scipy.special takes half a second, and reports must open at once.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64s = NDArray[np.float64]
BLOCK = 1 << 21  # elements of a bootstrap block: 16 MB, whatever the number of values


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Float64s | np.float64:
    """Mean of the middle half: a quarter (rounded down) of the values is dropped at either end
    (Agarwal et al. 2021, "Deep RL at the Edge of the Statistical Precipice", section 4.3)."""
    ordered = np.sort(np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1))
    count = ordered.shape[-1]
    if count == 0:
        raise ValueError("the interquartile mean of no values is not defined")
    middle: Float64s | np.float64 = ordered[..., count // 4 : count - count // 4].mean(axis=-1)
    return middle


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[..., Any],
    rng: np.random.Generator,
    level: float = 0.95,
    n: int = 2000,
) -> tuple[float, float]:
    """Expanded percentile interval of `statistic` (Efron and Tibshirani 1993, chapter 13;
    Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.1).

    `statistic(resamples, axis=-1)` reduces [k, len(values)] to [k]: np.mean, np.median and
    `interquartile_mean` do. Fewer than two values say nothing of their spread: (nan, nan).
    """
    data = _one_axis(values)
    _check_level(level)
    if len(data) < 2:
        return math.nan, math.nan
    rows = max(1, BLOCK // len(data))
    blocks = []
    for first in range(0, n, rows):
        block = min(rows, n - first)
        chosen = rng.integers(0, len(data), size=(block, len(data)))
        reduced = np.asarray(statistic(data[chosen], axis=-1))
        if reduced.shape != (block,):
            raise ValueError(f"statistic gave shape {reduced.shape}, expected ({block},)")
        blocks.append(reduced)
    low, high = np.quantile(np.concatenate(blocks), expanded_percentiles(level, len(data)))
    return float(low), float(high)


def expanded_percentiles(level: float, n: int) -> tuple[float, float]:
    """Which percentiles of a bootstrap bound an interval that holds the truth as often as it says.

    Resamples of n values vary too little by sqrt((n - 1) / n), and the normal law is not Student's:
    the percentiles of z = sqrt(n / (n - 1)) t undo both (Hesterberg 2015, section 5.1).
    """
    from statistics import NormalDist

    z = math.sqrt(n / (n - 1)) * student_t_quantile((1 + level) / 2, n - 1)
    tail = NormalDist().cdf(-z)
    return tail, 1.0 - tail


def mean_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean, mean -+ t sd / sqrt(n); (nan, nan) below two values."""
    data = _one_axis(values)
    _check_level(level)
    if len(data) < 2:
        return math.nan, math.nan
    mean = float(data.mean())
    t = student_t_quantile((1 + level) / 2, len(data) - 1)
    half = t * float(data.std(ddof=1)) / math.sqrt(len(data))
    return mean - half, mean + half


def student_t_quantile(probability: float, freedom: int) -> float:
    """The t that a Student variable with `freedom` degrees stays below with this probability.

    Up to 200 degrees by bisecting the finite series of Abramowitz and Stegun 1964 (26.7.3 and
    26.7.4, with t = sqrt(freedom) tan angle), beyond by their expansion 26.7.5, whose error is
    then below 1e-9.
    """
    if not 0.0 < probability < 1.0 or freedom < 1:
        raise ValueError(f"probability {probability} or freedom {freedom} is out of range")
    if probability < 0.5:
        return -student_t_quantile(1.0 - probability, freedom)
    if freedom > 200:
        from statistics import NormalDist

        z, v = NormalDist().inv_cdf(probability), float(freedom)
        g1 = (z**3 + z) / 4
        g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        g4 = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
        return z + g1 / v + g2 / v**2 + g3 / v**3 + g4 / v**4
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        if _t_within(angle, freedom) < 2 * probability - 1:
            low = angle
        else:
            high = angle
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _t_within(angle: float, freedom: int) -> float:
    """P(|t| < sqrt(freedom) tan angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(1 + odd, freedom - 2, 2):  # terms cos^k with factors 1/2 3/4 ... or 2/3 4/5 ...
        term *= cosine * cosine * k / (k + 1)
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def theil_sen_slope(y: ArrayLike, x: ArrayLike | None = None, max_pairs: int = 200_000) -> float:
    """Median of the slopes between all pairs of points (Theil 1950, Sen 1968): up to 29 % of the
    points may be anything. Per index unless x is given. Points with NaN do not count; NaN below
    two points. Beyond `max_pairs` pairs, that many are taken from a low-discrepancy sequence
    (Roberts 2018, R2), so that the same series always gives the same slope.
    """
    heights = _one_axis(y)
    places = np.arange(len(heights), dtype=np.float64) if x is None else _one_axis(x)
    if places.shape != heights.shape:
        raise ValueError(f"x has shape {places.shape}, expected {heights.shape}")
    known = np.isfinite(heights) & np.isfinite(places)
    heights, places = heights[known], places[known]
    count = len(heights)
    if count * (count - 1) // 2 <= max_pairs:
        i, j = np.triu_indices(count, 1)
    else:
        plastic = 1.32471795724474602596  # the real root of p^3 = p + 1
        k = np.arange(1, max_pairs + 1)
        i = (k / plastic % 1.0 * count).astype(np.int64)
        j = (k / plastic**2 % 1.0 * count).astype(np.int64)
    run = places[j] - places[i]
    usable = run != 0
    if not usable.any():
        return math.nan
    return float(np.median((heights[j] - heights[i])[usable] / run[usable]))


class MannKendall(NamedTuple):
    """Result of the Mann-Kendall test: positive s and z mean rising."""

    s: int  # pairs that rise minus pairs that fall
    z: float
    p: float  # two-sided


def mann_kendall(values: ArrayLike) -> MannKendall:
    """Test for a monotone trend (Mann 1945, Kendall 1975), with the correction for ties.

        S = sum over i < j of sign(x_j - x_i)
        Var S = (n (n-1) (2n+5) - sum over groups of t equal values of t (t-1) (2t+5)) / 18
        z = (S - sign S) / sqrt(Var S)

    NaN does not count. The values are taken as independent: on a smoothed series p is too small.
    """
    data = _one_axis(values)
    data = data[~np.isnan(data)]
    s = 0
    seen: list[float] = []
    for value in data.tolist():  # a sorted list: n log n comparisons, exact with ties
        below, not_above = bisect_left(seen, value), bisect_right(seen, value)
        s += below - (len(seen) - not_above)
        seen.insert(not_above, value)
    n = len(data)
    ties = np.unique(data, return_counts=True)[1].tolist()
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if variance <= 0 or s == 0:
        return MannKendall(s, 0.0, 1.0)
    z = (s - math.copysign(1, s)) / math.sqrt(variance)
    return MannKendall(s, z, math.erfc(abs(z) / math.sqrt(2)))


def robust_deviation(values: ArrayLike) -> float:
    """1.4826 times the median distance from the median: the standard deviation where the values are
    normal, and hardly moved by up to half of them being anything (Hampel 1974). NaN does not count;
    NaN of no values."""
    data = _one_axis(values)
    data = data[~np.isnan(data)]
    if not len(data):
        return math.nan
    return 1.4826 * float(np.median(np.abs(data - np.median(data))))


def autocorrelation(values: ArrayLike, lag: int = 1) -> float:
    """Correlation of a series with itself `lag` places later; NaN where it does not vary or is too
    short. Near 1 for a smooth curve, 0 for noise, negative for a zigzag."""
    data = _one_axis(values)
    if lag < 1:
        raise ValueError(f"lag is {lag}, expected at least 1")
    if len(data) <= lag + 1:
        return math.nan
    centred = data - data.mean()
    total = float(centred @ centred)
    return float(centred[lag:] @ centred[:-lag]) / total if total > 0 else math.nan


class ChangePoint(NamedTuple):
    """Where a series is best split into two levels."""

    place: int  # of the first value of the second part
    before: float  # mean level
    after: float
    explained: float  # share of the variance that the two levels explain


def change_point(values: ArrayLike, smallest: int = 5) -> ChangePoint | None:
    """The split into two levels that leaves the least squared distance (binary segmentation's first
    step, Scott and Knott 1974), each part of at least `smallest` values; None where too short or
    constant. A ramp is split as well: `explained` is 0.75 for a straight line, near 1 for a step.
    """
    data = _one_axis(values)
    data = data[np.isfinite(data)]
    count = len(data)
    if smallest < 1:
        raise ValueError(f"smallest is {smallest}, expected at least 1")
    if count < 2 * smallest:
        return None
    centred = data - data.mean()
    total = float(centred @ centred)
    if not total > 0:
        return None
    places = np.arange(smallest, count - smallest + 1)
    left = np.cumsum(centred)[places - 1]
    # Between-part variance of centred data: left^2 (1/n1 + 1/n2), since the right sum is -left.
    between = left**2 * (1.0 / places + 1.0 / (count - places))
    best = int(between.argmax())
    at = int(places[best])
    explained = min(float(between[best]) / total, 1.0)
    return ChangePoint(at, float(data[:at].mean()), float(data[at:].mean()), explained)


def swings(values: ArrayLike, height: float) -> int:
    """How often a series turns after having moved by more than `height` (the zigzag of its
    extremes): 0 for a monotone one, whatever its small noise."""
    if not height > 0:
        raise ValueError(f"height is {height}, expected above 0")
    turns, direction = 0, 0
    low = high = math.nan
    for value in _one_axis(values).tolist():
        if not math.isfinite(value):
            continue
        if math.isnan(low):
            low = high = value
        low, high = min(low, value), max(high, value)
        if direction <= 0 and value - low > height:
            turns += direction < 0
            direction, high = 1, value
            low = value
        elif direction >= 0 and high - value > height:
            turns += direction > 0
            direction, low = -1, value
            high = value
    return turns


def moving_median(values: ArrayLike, window: int) -> Float64s:
    """Median of each `window` neighbours, `[T - window + 1]`; of all where there are fewer."""
    data = _one_axis(values)
    if window < 1:
        raise ValueError(f"window is {window}, expected at least 1")
    if len(data) == 0:
        return data
    view = np.lib.stride_tricks.sliding_window_view(data, min(window, len(data)))
    middles: Float64s = np.median(view, axis=-1)
    return middles


def moving_average(values: ArrayLike, window: int) -> Float64s:
    """Mean of the last `window` values at each place, of as many as there are at the beginning.
    NaN (not measured) does not count; NaN where nothing in the window was measured."""
    data = _one_axis(values)
    if window < 1:
        raise ValueError(f"window is {window}, expected at least 1")
    if len(data) == 0:
        return data
    # Not a difference of cumulative sums: one huge value would wipe out all after it.
    box = np.ones(min(window, len(data)))
    known = ~np.isnan(data)
    counts = np.rint(np.convolve(known, box)[: len(data)])
    sums = np.convolve(np.where(known, data, 0.0), box)[: len(data)]
    means = np.full(len(data), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def downsample(x: ArrayLike, y: ArrayLike, points: int) -> tuple[Float64s, Float64s]:
    """At most `points` points that look like the whole line (largest triangle, three buckets:
    Steinarsson 2013, "Downsampling Time Series for Visual Representation", section 4.2).

    The first and last point stay; in each bucket between them the point that spans the largest
    triangle with the point chosen before and the mean of the next bucket. Points with NaN or
    infinity are left out.
    """
    places, heights = _one_axis(x), _one_axis(y)
    if places.shape != heights.shape:
        raise ValueError(f"y has shape {heights.shape}, expected {places.shape}")
    if points < 3:
        raise ValueError(f"points is {points}, expected at least 3")
    known = np.isfinite(heights) & np.isfinite(places)
    places, heights = places[known], heights[known]
    if len(places) <= points:
        return places, heights
    edges = np.linspace(1, len(places) - 1, points - 1).astype(np.int64)
    starts = edges.tolist()
    sizes = np.diff(np.append(edges, len(places)))
    mean_x = (np.add.reduceat(places, edges) / sizes).tolist()
    mean_y = (np.add.reduceat(heights, edges) / sizes).tolist()
    chosen = [0]
    for bucket in range(points - 2):
        a, part = chosen[-1], slice(starts[bucket], starts[bucket + 1])
        area = np.abs(
            (places[a] - mean_x[bucket + 1]) * (heights[part] - heights[a])
            - (places[a] - places[part]) * (mean_y[bucket + 1] - heights[a])
        )
        chosen.append(starts[bucket] + int(area.argmax()))
    chosen.append(len(places) - 1)
    return places[chosen], heights[chosen]


def _one_axis(values: ArrayLike) -> Float64s:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1:
        raise ValueError(f"values have shape {data.shape}, expected one axis: flatten them")
    return data


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}, expected between 0 and 1, such as 0.95")
