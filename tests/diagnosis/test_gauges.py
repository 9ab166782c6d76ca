"""Numbers without a threshold: how they are read, counted and chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.faults import gauged, learn
from benchmarks.faults.symptoms import Case

from dressage.diagnosis.diagnose import diagnose, shipped_rates
from dressage.diagnosis.gauges import (
    OF_A_METRIC,
    OF_ALL,
    OF_EPISODES,
    OF_FAMILY,
    SAYS,
    Ranges,
    log_shares,
    reading,
    readings,
)
from dressage.diagnosis.infer import GAUGED, HEALTHY, Rates, evidence, posterior
from dressage.runs.view import Episodes, RunView, Series


def run_of(values: Any, returns: Any = ()) -> RunView:
    values, returns = np.asarray(values, float), np.asarray(returns, float)
    steps = np.arange(len(values), dtype=float)
    ended = np.arange(len(returns), dtype=float)
    episodes = Episodes(ended, returns, np.full(len(returns), 10.0))
    series = {"train/loss/policy": Series(steps, values)}
    return RunView(Path("run"), "run", "dressage", "ppo", series=series, episodes=episodes)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("start", 1.5),
        ("middle", 10.0),
        ("end", 18.5),
        ("growth", np.log10(1 + 18.5e6) - np.log10(1 + 1.5e6)),
        ("trend", 1.0),
        ("roughness", 1.0 / 5.0),
        ("spread", 5.0 / 10.5),
        ("smallest", 1.0),
        ("largest", 20.0),
    ],
)
def test_parts_of_a_metric_by_hand(part: str, expected: float) -> None:
    run = run_of(range(1, 21))
    assert reading(run, f"train/loss/policy {part}") == pytest.approx(expected, rel=1e-6)


def test_episodes_by_hand() -> None:
    run = run_of([], [0.0, 1.0] * 10)
    assert reading(run, "episodes neighbours") == pytest.approx(-1.0)
    run = run_of([], [0.0] * 10 + [2.0] * 10)
    assert reading(run, "episodes gain") == pytest.approx(2.0 / 1.0)


def test_a_long_log_is_read_as_a_short_one_is() -> None:
    noise = np.random.default_rng(0).normal(size=50)
    wave = np.interp(np.linspace(0, 49, 20_000), np.arange(50), noise)
    few = reading(
        run_of(wave[np.linspace(0, 19_999, 64).round().astype(int)]), "train/loss/policy roughness"
    )
    assert reading(run_of(wave), "train/loss/policy roughness") == pytest.approx(few)


def test_what_cannot_be_told_is_left_out() -> None:
    gauges = ["train/loss/policy start", "train/loss/value start", "episodes gain"]
    assert readings(run_of([np.nan, 1.0, 2.0]), gauges) == {}
    assert readings(run_of([np.nan, 1.0, 2.0, 3.0, np.inf]), gauges) == {gauges[0]: 1.0}
    assert set(SAYS) == {*OF_A_METRIC, *OF_EPISODES}
    for part in OF_A_METRIC:
        values = [0.0, 0.0, 0.0, 1e300, -1e300]
        assert not np.isinf(reading(run_of(values), f"train/loss/policy {part}"))


def test_shares_against_plain_numpy() -> None:
    own, every = np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([[4.0, 2.0], [1.0, 5.0]])
    usual = ((own[0] / 4 + own[1] / 2) + 0.5) / 3
    for i in range(2):
        overall = (every[i] + OF_ALL * usual) / (every[i].sum() + OF_ALL)
        share = (own[i] + OF_FAMILY * overall) / (own[i].sum() + OF_FAMILY)
        assert log_shares(own, every)[i] == pytest.approx(np.log(share / usual))
    ranges = Ranges(
        [0.5],
        {
            "a": {"on-policy": [3.0, 1.0], "value-based": [1.0, 1.0]},
            "b": {"on-policy": [0.0, 2.0], "value-based": [1.0, 3.0]},
        },
    )
    logs = ranges.logs("on-policy")
    assert np.array([logs["a"], logs["b"]]) == pytest.approx(log_shares(own, every))
    assert ranges.place(0.4) == 0
    assert ranges.place(0.6) == 1
    assert Ranges([], {}).logs("on-policy") == {}
    assert np.isfinite(list(ranges.logs("never seen").values())).all()


def test_a_reading_moves_what_is_likely_by_its_share() -> None:
    counts = {
        HEALTHY: {"on-policy": [9.0, 1.0]},
        "lr-too-high": {"on-policy": [1.0, 9.0]},
    }
    rates = Rates(gauges={"g": Ranges([0.0], counts)})
    of = ["lr-too-high", "lr-too-low"]
    told = evidence([], (), of, "on-policy", rates, {"g": 1.0})
    logs = rates.gauges["g"].logs("on-policy")
    assert told.gauges["lr-too-high"] == pytest.approx(logs["lr-too-high"][1])
    assert told.gauges["lr-too-low"] == 0.0  # never seen: as usual
    before = posterior([], (), of, "on-policy", rates)
    after = posterior([], (), of, "on-policy", rates, {"g": 1.0})
    odds = [p["lr-too-high"] / p[HEALTHY] for p in (before, after)]
    moved = GAUGED * (logs["lr-too-high"][1] - logs[HEALTHY][1])
    assert np.log(odds[1] / odds[0]) == pytest.approx(moved)


# -- chosen on labelled runs ---------------------------------------------------------------------


def labelled() -> list[Case]:
    """Three environments; "telling" tells faults from healthy runs, "noise" and "own" do not: the
    latter does in one environment alone."""
    generator, found = np.random.default_rng(0), []
    for environment in ("first", "second", "third"):
        for n in range(120):
            faulty = n % 2 == 1
            label = {
                "setting": f"{environment}-ppo",
                "cause": "lr-too-high" if faulty else None,
                "variant": "v",
                "key": f"{environment}{n}",
            }
            read = {
                "telling": generator.normal() + 4.0 * faulty,
                "noise": generator.normal(),
                "own": generator.normal() + 4.0 * faulty * (environment == "first"),
            }
            right = frozenset({"lr-too-high" if faulty else HEALTHY})
            nothing: frozenset[str] = frozenset()
            of = ("lr-too-high", "lr-too-low")
            found.append(Case(label, "on-policy", of, nothing, nothing, right, readings=read))
    return found


def test_what_tells_in_every_environment_is_chosen(monkeypatch: Any) -> None:
    monkeypatch.setattr(gauged, "WORTH", 0.03)
    cases = labelled()
    assert gauged.chosen(cases, learn.without_own(cases)) == ["telling"]


def test_an_environment_has_no_part_in_what_it_is_judged_by() -> None:
    cases = labelled()
    whole, without = (gauged.ranges("own", cases, e) for e in ("", "first"))
    assert whole.cuts == without.cuts
    count = lambda ranges, cause: np.sum(list(ranges.counts[cause].values()))  # noqa: E731
    assert count(whole, HEALTHY) == pytest.approx(3.0, abs=0.05)  # environments
    assert count(without, HEALTHY) == pytest.approx(2.0, abs=0.05)


def test_candidates_do_not_name_settings() -> None:
    run = run_of(range(10))
    names = ("train/hp/lr", "train/cnt/epochs", "train/metrics/weight_norm/policy", "sys/fps")
    run.series |= dict.fromkeys(names, run["train/loss/policy"])
    found = set(gauged.candidates(run))
    assert "train/loss/policy start" in found
    assert {gauge for gauge in found if "weight_norm" in gauge} == {
        f"train/metrics/weight_norm/policy {part}"
        for part in ("growth", "trend", "roughness", "spread")
    }
    assert not any(gauge.startswith(("train/hp", "train/cnt", "sys")) for gauge in found)


# -- shipped -------------------------------------------------------------------------------------


def test_shipped_gauges_can_be_read_and_said() -> None:
    rates = shipped_rates()
    assert rates.gauges
    for gauge, ranges in rates.gauges.items():
        metric, _, part = gauge.rpartition(" ")
        assert part in SAYS, gauge
        assert metric == "episodes" or not gauged.NAMES_A_SETTING.match(gauge)
        assert ranges.cuts == sorted(ranges.cuts)
        widths = {len(row) for by in ranges.counts.values() for row in by.values()}
        assert widths == {len(ranges.cuts) + 1}


def test_a_gauge_is_shown_as_evidence_in_the_words_of_the_run() -> None:
    counts = {
        HEALTHY: {"on-policy": [20.0, 0.0]},
        "lr-too-high": {"on-policy": [0.0, 20.0]},
    }
    rates = Rates(gauges={"train/loss/policy end": Ranges([0.5], counts)}, healthy=0.01)
    run = run_of([1.0] * 30)
    run.own_names["train/loss/policy"] = "losses/policy_loss"
    told = diagnose(run, rates)
    (cause,) = [one for one in told.causes if one.id == "lr-too-high"]
    assert any("losses/policy_loss ends at 1: about " in says for says in cause.evidence)
