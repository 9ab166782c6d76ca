"""Numbers, ticks, ranges, trends: the small parts by themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dressage.reporting.document import Chart, Code, Series
from dressage.reporting.episodes import histogram
from dressage.reporting.inline import html_words, markdown_words
from dressage.reporting.numbers import clean, duration, number, tick_labels
from dressage.reporting.scale import axes_of, round_ticks
from dressage.reporting.trends import course, numeric_range, rises_at_the_end, sparkline, verdict
from dressage.runs.metrics import METRICS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1234567, "1,234,567"), (30208, "30,208"), (1182.4, "1,182"),
        (476.123, "476.1"),
        (0.00136808, "0.001368"), (1.2e-7, "1.2e-7"), (-0.5, "-0.5"), (math.nan, "–"), (None, "–"),
        (math.inf, "∞"), (3e15, "3e15"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


def test_duration() -> None:
    found = [duration(s) for s in (0.5, 61, 3661, 200_000, math.nan)]
    assert found == ["0.5 s", "1 min 01 s", "1 h 01 min", "2 d 7 h", "–"]


def test_clean() -> None:
    assert clean("a\n\tb\x1b[0m\u202e") == "a b [0m"
    assert len(clean("x" * 9999)) == 400
    assert clean(10**5000).startswith("a huge")


def test_ticks_are_round_and_in_one_unit() -> None:
    assert round_ticks(0, 30208, 6) == [0, 10_000, 20_000, 30_000]
    assert tick_labels([0, 5000, 10000, 15000]) == ["0", "5k", "10k", "15k"]
    assert tick_labels([0, 2_500_000, 5_000_000]) == ["0", "2.5M", "5.0M"]
    assert tick_labels([-1500, -1000, -500, 0]) == ["-1,500", "-1,000", "-500", "0"]
    assert tick_labels([0, 0.0005]) == ["0", "5e-4"]


def lines(y: np.ndarray, **options: object) -> Chart:
    return Chart("t", [Series("s", np.arange(len(y), dtype=float), y)], **options)  # type: ignore[arg-type]


def test_an_outlier_does_not_spoil_the_range() -> None:
    y = np.sin(np.arange(200.0))
    y[17] = 1e6
    axes = axes_of(lines(y))
    assert axes is not None
    assert axes.y1 < 3
    assert axes.notes == ["1 outlier beyond the picture, as far as 1,000,000."]
    whole = axes_of(lines(y, robust=False))
    assert whole is not None
    assert whole.y1 > 1e6


def test_ranges() -> None:
    assert axes_of(lines(np.full(5, np.nan))) is None
    flat = axes_of(lines(np.full(5, 3.0)))
    assert flat is not None
    assert flat.y0 < 3 < flat.y1
    decades = axes_of(lines(10.0 ** np.linspace(-3, 3, 50), log=True))
    assert decades is not None
    assert decades.log
    assert [text for _, text in decades.y_ticks][:2] == ["0.001", "0.01"]
    narrow = axes_of(lines(np.linspace(1, 2, 50), log=True))
    assert narrow is not None
    assert not narrow.log


def test_histograms_hold_every_episode() -> None:
    for values in (np.array([5.0]), np.full(9, -200.0), np.linspace(-3, 500, 77), np.zeros(3)):
        chart = histogram("t", values, np.ones(len(values), bool), "return", "")
        assert chart.series[0].y.sum() == len(values)
        assert axes_of(chart) is not None


@pytest.mark.parametrize(
    ("text", "low", "high", "guess"),
    [
        ("0.001 to 0.02 [37, GS]; above 0.05 updates are too large [GS]", 0.001, 0.02, False),
        ("above 1e-3, at most 10 [AJ]", 1e-3, 10, False),
        ("below 0.5 (guess)", -math.inf, 0.5, True),
        ("within ±10 after scaling the reward [AJ]", -10, 10, False),
        ("0", 0, 0, False),
        ("at most about 10 [AJ]", -math.inf, 10, False),
    ],
)
def test_ranges_in_words(text: str, low: float, high: float, guess: bool) -> None:
    found = numeric_range(text)
    assert found is not None
    assert (found.low, found.high, found.guess) == (low, high, guess)


def test_words_without_a_range() -> None:
    for text in (
        "steady", "rises towards 1", "about 1e-3 [KA]; above 1e-2", "below 10 % of the interval",
        "below the largest reward over (1 - gamma)", "near zero beside adv_std",
        "n_epochs, or less",
    ):  # fmt: skip
        assert numeric_range(text) is None, text
    for metric in METRICS.values():
        numeric_range(metric.healthy)


def test_course() -> None:
    rng = np.random.default_rng(0)
    rising = course(np.linspace(0, 100, 200) + rng.normal(0, 3, 200))
    assert rising.trend == "rises"
    assert rising.change == pytest.approx(95, rel=0.1)
    assert rising.first == pytest.approx(5, abs=2)
    assert course(rng.normal(0, 1, 200)).trend == "no clear trend"
    assert course(np.full(200, 2.0)).trend == "constant"
    assert course(np.arange(3.0)).trend == "too few rows"
    assert course(np.array([math.inf, 1.0])).not_finite == 1
    assert math.isnan(course(np.empty(0)).last)


def test_verdict() -> None:
    allowed = numeric_range("0.05 to 0.2")
    assert [verdict(v, allowed) for v in (0.01, 0.1, 0.3, math.nan)] == [
        "below",
        "inside",
        "above",
        "",
    ]
    assert verdict(1.0, None) == ""


def test_sparkline() -> None:
    assert sparkline(np.arange(8.0), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline(np.array([1.0])) == ""
    assert sparkline(np.full(3, 2.0)) == "▄▄▄"


def test_rising_keeps_its_level() -> None:
    """On runs that do not rise at the end, it says so in at most about one of a hundred."""
    rng = np.random.default_rng(1)
    x = np.arange(300.0)
    alarms = sum(rises_at_the_end(x, rng.normal(0, 1, 300)) is not None for _ in range(400))
    assert alarms <= 10
    assert rises_at_the_end(x, x + rng.normal(0, 5, 300)) is not None
    assert rises_at_the_end(x[:5], x[:5]) is None


def test_escapes() -> None:
    words = ("a <b> & ", Code("x|y"), " ", Code("a_b"))
    assert html_words(words) == "a &lt;b&gt; &amp; <code>x|y</code> <code>a_b</code>"
    assert markdown_words(words) == "a \\<b\\> \\& x\\|y `a_b`"
