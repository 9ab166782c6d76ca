"""Against scipy.stats (as an oracle here only), naive loops and hand-worked cases."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dressage.math.summary import (
    autocorrelation,
    bootstrap_interval,
    change_point,
    downsample,
    interquartile_mean,
    mann_kendall,
    mean_interval,
    moving_average,
    moving_median,
    robust_deviation,
    student_t_quantile,
    swings,
    theil_sen_slope,
)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 10, 101])
def test_interquartile_mean(count):
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(6, count))
    np.testing.assert_allclose(interquartile_mean(rows), scipy.stats.trim_mean(rows, 0.25, axis=1))
    np.testing.assert_allclose(interquartile_mean(rows.T, axis=0), interquartile_mean(rows))


def test_interquartile_mean_by_hand():
    assert interquartile_mean([1e9, 1, 2, 3, 4, 5, 6, -1e9]) == 3.5  # 2, 3, 4, 5
    with pytest.raises(ValueError, match="no values"):
        interquartile_mean([])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.9999])
def test_student_t_quantile(level):
    degrees = [*range(1, 40), 99, 100, 199, 200, 201, 250, 1000, 10**6]
    found = [student_t_quantile((1 + level) / 2, freedom) for freedom in degrees]
    np.testing.assert_allclose(found, scipy.stats.t.ppf((1 + level) / 2, degrees), rtol=1e-8)
    assert student_t_quantile((1 - level) / 2, 7) == pytest.approx(
        -student_t_quantile((1 + level) / 2, 7)
    )


def test_student_t_quantile_of_a_half_is_zero():
    assert student_t_quantile(0.5, 5) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="out of range"):
        student_t_quantile(1.0, 5)


@pytest.mark.parametrize("count", [2, 5, 8, 100, 500])
def test_mean_interval(count):
    values = np.random.default_rng(count).normal(size=count) * 30 + 400
    expected = scipy.stats.t.interval(
        0.95, count - 1, values.mean(), values.std(ddof=1) / math.sqrt(count)
    )
    np.testing.assert_allclose(mean_interval(values), expected, rtol=1e-9)


def test_intervals_of_too_little_are_unknown():
    for values in ([], [3.0]):
        assert all(map(math.isnan, mean_interval(values)))
        rng = np.random.default_rng(0)
        assert all(map(math.isnan, bootstrap_interval(values, np.mean, rng)))
    with pytest.raises(ValueError, match="level is 95"):
        mean_interval([1.0, 2.0], level=95)


def test_bootstrap_interval_is_deterministic_and_agrees_with_scipy():
    values = np.random.default_rng(0).normal(size=40)
    for statistic in (np.mean, np.median, interquartile_mean):
        found = bootstrap_interval(values, statistic, np.random.default_rng(1), n=20_000)
        assert found == bootstrap_interval(values, statistic, np.random.default_rng(1), n=20_000)
        level = 1 - 2 * scipy.stats.norm.cdf(-np.sqrt(40 / 39) * scipy.stats.t.ppf(0.975, 39))
        oracle = scipy.stats.bootstrap(
            (values,),
            statistic,
            n_resamples=20_000,
            confidence_level=level,
            method="percentile",
            rng=2,
        ).confidence_interval
        np.testing.assert_allclose(found, oracle, atol=0.03)


def test_bootstrap_interval_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        low, high = bootstrap_interval(rng.normal(size=40), np.mean, rng, n=400)
        inside += low <= 0.0 <= high
    assert 0.89 < inside / 300 < 0.98


def test_bootstrap_of_many_values_stays_small(monkeypatch):
    monkeypatch.setattr("dressage.math.summary.BLOCK", 1000)
    seen = []

    def mean(resamples, axis):
        seen.append(resamples.size)
        return resamples.mean(axis=axis)

    bootstrap_interval(np.arange(300.0), mean, np.random.default_rng(0), n=100)
    assert max(seen) <= 1000
    assert sum(seen) == 100 * 300
    with pytest.raises(ValueError, match="statistic gave shape"):
        bootstrap_interval([1.0, 2.0], lambda x, axis: x, np.random.default_rng(0))


def test_theil_sen_slope():
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(60)) * 1e6
    y = 3e-4 * x + rng.normal(size=60)
    y[::5] = 1e6  # a fifth of the points is wild
    assert theil_sen_slope(y, x) == pytest.approx(scipy.stats.theilslopes(y, x)[0])
    assert theil_sen_slope([5.0, 3.0, 1.0]) == -2.0
    assert theil_sen_slope([5.0, math.nan, 1.0]) == -2.0
    assert theil_sen_slope([1.0, 2.0, 9.0], [1.0, 1.0, 2.0]) == 7.5
    for empty in ([], [1.0], [math.nan, 1.0]):
        assert math.isnan(theil_sen_slope(empty))
    assert math.isnan(theil_sen_slope([1.0, 2.0], [1.0, 1.0]))
    with pytest.raises(ValueError, match="x has shape"):
        theil_sen_slope([1.0, 2.0], [1.0])


def test_theil_sen_slope_of_a_long_series_is_near_and_repeats():
    rng = np.random.default_rng(0)
    for trend in (0.0, 0.01, -0.5):
        y = trend * np.arange(2000) + rng.normal(size=2000) * 10
        y[rng.random(2000) < 0.2] += 500
        exact = theil_sen_slope(y, max_pairs=10**9)
        found = theil_sen_slope(y, max_pairs=50_000)
        assert found == theil_sen_slope(y, max_pairs=50_000)
        assert found == pytest.approx(exact, abs=2e-4)


@given(st.lists(st.integers(-4, 4) | st.just(math.nan), max_size=40))
@settings(max_examples=100, deadline=None)
def test_mann_kendall_equals_the_naive_sum(values):
    found = mann_kendall(values)
    data = [value for value in values if not math.isnan(value)]
    naive = sum(np.sign(b - a) for i, a in enumerate(data) for b in data[i + 1 :])
    assert found.s == naive
    assert 0.0 <= found.p <= 1.0
    if found.z:
        # scipy's asymptotic p lacks the continuity correction; undo ours to compare.
        z = found.z * abs(found.s) / (abs(found.s) - 1) if abs(found.s) > 1 else None
        oracle = scipy.stats.kendalltau(range(len(data)), data, method="asymptotic").pvalue
        if z is not None:
            assert math.erfc(abs(z) / math.sqrt(2)) == pytest.approx(oracle)


def test_mann_kendall_by_hand():
    # n = 5, rising: S = 10, Var = 5*4*15/18 = 50/3, z = 9 / sqrt(50/3) = 2.2045
    s, z, p = mann_kendall([1, 2, 3, 4, 5])
    assert (s, round(z, 4), round(p, 4)) == (10, 2.2045, 0.0275)
    assert mann_kendall([5, 4, 3, 2, 1]).z == -z
    assert mann_kendall([2, 2, 2]) == (0, 0.0, 1.0)
    assert mann_kendall([]) == (0, 0.0, 1.0)


def test_moving_average():
    assert moving_average([1, 2, 3, 4], 2).tolist() == [1, 1.5, 2.5, 3.5]
    assert moving_average([1, 2, 3], 99).tolist() == [1, 1.5, 2]
    found = moving_average([math.nan, 1, math.nan, math.nan, 5], 2)
    np.testing.assert_array_equal(found, [math.nan, 1, 1, math.nan, 5])
    assert moving_average([1e300, 1, 1, 1], 2).tolist()[2:] == [1, 1]  # no cancellation
    assert moving_average([], 3).tolist() == []
    with pytest.raises(ValueError, match="window is 0"):
        moving_average([1.0], 0)
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    naive = [values[max(0, i - 16) : i + 1].mean() for i in range(200)]
    np.testing.assert_allclose(moving_average(values, 17), naive)


def naive_triangles(x, y, points):
    """Steinarsson's buckets, by plain loops."""
    edges = np.linspace(1, len(x) - 1, points - 1).astype(int).tolist()
    chosen = [0]
    for i in range(points - 2):
        end = edges[i + 2] if i + 2 < len(edges) else len(x)
        cx, cy = np.mean(x[edges[i + 1] : end]), np.mean(y[edges[i + 1] : end])
        a = chosen[-1]
        areas = [
            abs((x[a] - cx) * (y[k] - y[a]) - (x[a] - x[k]) * (cy - y[a]))
            for k in range(edges[i], edges[i + 1])
        ]
        chosen.append(edges[i] + int(np.argmax(areas)))
    return [*chosen, len(x) - 1]


@pytest.mark.parametrize(("count", "points"), [(1000, 50), (101, 100), (57, 3), (400, 7)])
def test_downsample_equals_the_naive_loops(count, points):
    rng = np.random.default_rng(count)
    x, y = np.sort(rng.random(count)), rng.normal(size=count)
    found_x, found_y = downsample(x, y, points)
    expected = naive_triangles(x, y, points)
    np.testing.assert_array_equal(found_x, x[expected])
    np.testing.assert_array_equal(found_y, y[expected])
    assert len(found_x) == points


def test_downsample_keeps_a_spike_and_short_series():
    y = np.zeros(10_000)
    y[6789] = 1.0
    assert downsample(np.arange(10_000), y, 100)[1].max() == 1.0
    x, y = downsample([1, 2, 3, 4], [1, math.nan, 3, math.inf], 3)
    assert (x.tolist(), y.tolist()) == ([1, 3], [1, 3])
    with pytest.raises(ValueError, match="points is 2"):
        downsample([1.0], [1.0], 2)


def test_math_imports_neither_scipy_nor_torch_nor_pandas():
    code = (
        "import sys, dressage.math.returns, dressage.math.running, dressage.math.schedules\n"
        "from dressage.math import summary\n"
        "summary.mean_interval([1, 2, 3]), summary.mean_interval(range(300))\n"
        "summary.mann_kendall([1, 2, 3])\n"
        "print(sorted({'scipy', 'torch', 'pandas', 'pydantic'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_robust_deviation() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(3.0, 2.0, 4001)
    assert robust_deviation(values) == pytest.approx(
        scipy.stats.median_abs_deviation(values, scale="normal"), rel=1e-3
    )
    values[:1500] = 1e9
    assert robust_deviation(values) < 10.0
    assert math.isnan(robust_deviation([math.nan]))


@pytest.mark.parametrize("lag", [1, 3])
def test_autocorrelation(lag: int) -> None:
    values = np.cumsum(np.random.default_rng(1).normal(size=300))
    x = values - values.mean()
    loop = sum(x[i] * x[i + lag] for i in range(len(x) - lag)) / sum(x * x)
    assert autocorrelation(values, lag) == pytest.approx(loop)
    assert autocorrelation([1.0, -1.0] * 20) < -0.9
    assert math.isnan(autocorrelation([2.0] * 10))


def test_change_point_by_trying_every_split() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate((rng.normal(0, 1, 33), rng.normal(6, 1, 20)))

    def left_over(at: int) -> float:
        return float(values[:at].var() * at + values[at:].var() * (len(values) - at))

    found = change_point(values)
    assert found is not None
    assert found.place == min(range(5, len(values) - 4), key=left_over) == 33
    assert found.before == pytest.approx(values[:33].mean())
    assert found.after == pytest.approx(values[33:].mean())
    assert found.explained == pytest.approx(1 - left_over(33) / (values.var() * len(values)))
    line = change_point(np.arange(1000.0))
    assert line is not None and line.explained == pytest.approx(0.75, abs=0.01)
    assert change_point([1.0] * 30) is None and change_point([1.0, 2.0]) is None


def test_swings() -> None:
    wave = np.sin(np.linspace(0, 6 * np.pi, 200))  # three periods: up and down three times
    assert swings(wave, 0.5) == 6
    assert swings(wave, 3.0) == 0
    assert swings(np.arange(50) + 0.3 * (-1.0) ** np.arange(50), 1.5) == 0
    assert swings([], 1.0) == 0


def test_moving_median() -> None:
    values = np.random.default_rng(3).normal(size=40)
    slow = [np.median(values[i : i + 7]) for i in range(34)]
    np.testing.assert_allclose(moving_median(values, 7), slow)
    assert moving_median([3.0, 1.0, 2.0], 9).tolist() == [2.0]
