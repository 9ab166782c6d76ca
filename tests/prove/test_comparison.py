"""Comparing groups of runs: what is said, and when nothing can be said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.errors import RunError
from dressage.prove.comparison import Comparison, Side, compare
from dressage.prove.measures import area, final_return, on_one_axis, steps_to
from dressage.prove.parting import metric_parts
from dressage.prove.report import comparison_report
from dressage.prove.settings import differences
from dressage.runs.view import RunView, Series

STEPS = np.linspace(500, 50_000, 100)
KL = "train/metrics/kl_divergence"


def run(
    values: Any,
    seed: int = 0,
    env: str = "CartPole-v1",
    threshold: float | None = 475.0,
    **config: Any,
) -> RunView:
    generator = np.random.default_rng(seed)
    returns = np.broadcast_to(np.asarray(values, float), STEPS.shape)
    kl = config.get("learning_rate", 3e-4) * 30 * (1 + 0.1 * generator.normal(size=100))
    return RunView(
        Path(f"run-{seed}"), f"run-{seed}", "dressage", "ppo", env, {"seed": seed} | config,
        series={
            "train/roll/ep_rew_mean": Series(STEPS, returns + generator.normal(size=100)),
            KL: Series(STEPS, kl),
        },
        threshold=threshold,
    )  # fmt: skip


def learning(speed: float, seeds: int, **config: Any) -> list[RunView]:
    generator = np.random.default_rng(7)
    paces = speed * (1 + 0.05 * generator.normal(size=seeds))
    return [
        run(500 * (1 - np.exp(-pace * STEPS / 10_000)), seed, **config)
        for seed, pace in enumerate(paces)
    ]


# -- measures ------------------------------------------------------------------------------------


def exact(values: Any) -> RunView:
    made = run(0.0)
    made.series["train/roll/ep_rew_mean"] = Series(STEPS, np.asarray(values, float))
    return made


def test_measures_by_hand() -> None:
    ramp = exact(STEPS / 100)  # 5 to 500
    assert final_return(ramp) == pytest.approx((STEPS[STEPS >= 45_000] / 100).mean())
    assert steps_to(ramp, 100.0) == 10_000.0
    assert steps_to(ramp, 501.0) is None
    # flat at 5 up to 500, then a line to 500 at 50,000
    assert area(ramp, 50_000) == pytest.approx((5 * 500 + (5 + 500) / 2 * 49_500) / 50_000)
    assert area(exact(np.full(100, 7.0)), 123_456.0) == pytest.approx(7.0)


def test_one_axis_holds_values_between_rows_and_nothing_before_the_first() -> None:
    grid, rows = on_one_axis([exact(STEPS / 100)], "train/roll/ep_rew_mean", 50_000)
    inside = grid >= 500
    np.testing.assert_allclose(rows[0][inside], grid[inside] / 100)
    assert np.isnan(rows[0][~inside]).all()


# -- what is said --------------------------------------------------------------------------------


def fast_and_slow(seeds: int = 8) -> Comparison:
    a = Side("slow", learning(1.0, seeds, learning_rate=1e-4))
    b = Side("fast", learning(2.0, seeds, learning_rate=1e-3))
    return compare([a, b])


def test_a_clear_difference_is_found_with_its_direction() -> None:
    found = fast_and_slow()
    (pair,) = found.pairs
    assert "fast is better in" in pair.says and "worse" not in pair.says
    assert all(test.better for test in pair.tests)
    assert pair.steps_ratio[2] < 0.8 and pair.more_seeds is None
    assert pair.better.value == 1.0 and pair.effect_words == "large"
    assert [d.setting for d in found.settings] == ["learning_rate"]


def test_the_other_way_round_it_is_worse() -> None:
    a = Side("fast", learning(2.0, 8))
    b = Side("slow", learning(1.0, 8))
    assert "slow is worse in" in compare([a, b]).pairs[0].says


def test_the_same_runs_are_no_difference_and_seeds_are_counted() -> None:
    same = learning(1.0, 8)
    other = [
        run(view.series["train/roll/ep_rew_mean"].values, 50 + i) for i, view in enumerate(same)
    ]
    (pair,) = compare([Side("a", same), Side("b", other)]).pairs
    assert "No difference is proven" in pair.says
    assert min(test.adjusted for test in pair.tests) > 0.05


def test_one_run_a_side_concludes_nothing() -> None:
    (pair,) = compare([Side("a", learning(1.0, 1)), Side("b", learning(3.0, 1))]).pairs
    assert "nothing can be concluded" in pair.says and pair.tests == []


def test_a_few_seeds_cannot_reach_significance() -> None:
    """Three against three: the least two-sided p is a tenth."""
    a, b = Side("a", learning(1.0, 3)), Side("b", learning(3.0, 3))
    (pair,) = compare([a, b]).pairs
    assert "No difference is proven" in pair.says and "more seeds" in pair.says


def test_three_sides_are_corrected_together() -> None:
    sides = [Side(name, learning(pace, 8)) for name, pace in (("a", 1), ("b", 1.5), ("c", 2))]
    two, three = compare(sides[:2]), compare(sides)
    assert len(three.pairs) == 2
    assert three.pairs[0].tests[0].adjusted >= two.pairs[0].tests[0].adjusted


def test_runs_that_never_reach_the_threshold_are_kept() -> None:
    solved = learning(2.0, 8)
    stuck = learning(2.0, 4) + [run(100.0, seed) for seed in range(4, 8)]
    found = compare([Side("solved", solved), Side("stuck", stuck)])
    assert found.sides[1].steps_to_threshold.count(None) == 4
    assert found.pairs[0].steps_ratio[0] > 1.2


@pytest.mark.parametrize(
    ("threshold", "given", "whence"),
    [
        (475.0, None, "the environment's"),
        (475.0, 300.0, "as asked for"),
        (None, None, "nine tenths"),
        (9000.0, None, "none reached the environment's 9000"),
    ],
)
def test_what_counts_as_solved(threshold: float | None, given: float | None, whence: str) -> None:
    sides = [Side(name, learning(2.0, 3, threshold=threshold)) for name in "ab"]
    found = compare(sides, given)
    assert whence in found.threshold_from and found.threshold is not None


def test_a_threshold_that_hardly_any_run_reaches_is_not_used() -> None:
    never = [Side("a", learning(2.0, 4, threshold=475.0)), Side("b", [run(100.0, 9)] * 16)]
    found = compare(never)
    assert "4 of 20 runs reached the environment's 475" in found.threshold_from
    assert found.threshold is not None and found.threshold < 475.0


def test_curves_part_where_they_do_and_the_cause_moves_first() -> None:
    level = np.where(STEPS < 20_000, 50.0, 250.0)
    a, b = [run(50.0, seed) for seed in range(4)], [run(level, 9 + seed) for seed in range(4)]
    at = metric_parts(a, b, "train/roll/ep_rew_mean", 50_000)
    assert at is not None and 19_000 <= at <= 21_000
    fast = [run(level, 9 + seed, learning_rate=3e-2) for seed in range(4)]
    (pair,) = compare([Side("a", a), Side("b", fast)]).pairs
    assert pair.parting.before[0][0] == KL and pair.parting.before[0][1] < 2000
    assert metric_parts(a, [run(50.0, 20 + s) for s in range(4)], KL, 50_000) is None


def test_settings_that_matter_come_first_and_seeds_are_no_difference() -> None:
    a = [run(1.0, seed, gamma=0.99, log_every=10) for seed in range(3)]
    b = [run(1.0, seed, gamma=0.9, log_every=20) for seed in range(3)]
    found = differences([a, b])
    assert [d.setting for d in found] == ["gamma", "log_every"]
    assert found[0].values == ["0.99", "0.9"] and found[0].expected


# -- what cannot be compared ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sides", "why"),
    [
        ([Side("a", [run(1.0)])], "needs two"),
        (
            [Side("a", [run(1.0)]), Side("b", [run(1.0, env="Acrobot-v1")])],
            "different environments",
        ),
        ([Side("a", [run(1.0)]), Side("b", [run(np.nan)])], "no returns"),
        (
            [
                Side("a", [run(1.0)]),
                Side("b", [RunView(Path("x"), "x", "table", env="CartPole-v1")]),
            ],
            "no returns",
        ),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(sides: list[Side], why: str) -> None:
    with pytest.raises(RunError, match=why):
        compare(sides)


def test_runs_of_different_length_are_compared_as_far_as_both_go() -> None:
    short = run(50.0)
    short.series["train/roll/ep_rew_mean"] = Series(STEPS[:50], np.full(50, 50.0))
    found = compare([Side("long", [run(50.0)]), Side("short", [short])])
    assert found.env_steps == STEPS[49] and "differ in length" in found.notes[0]


def test_runs_without_env_steps_in_common_get_a_sentence() -> None:
    later = run(50.0)
    later.series["train/roll/ep_rew_mean"] = Series(STEPS + STEPS[-1], np.full(len(STEPS), 50.0))
    with pytest.raises(RunError, match="no env steps in common: later"):
        compare([Side("first", [run(50.0)]), Side("later", [later])])


# -- forms ---------------------------------------------------------------------------------------


def test_the_report_tells_it_in_every_form() -> None:
    sides = [Side("slow", learning(1.0, 8, learning_rate=1e-4)), Side("fast", learning(2.0, 8))]
    report = comparison_report(compare(sides), sides)
    for form in (report.text, report.markdown, report.html):
        assert "fast is better in" in form and "learning_rate" in form
    assert report.to_json()["pairs"][0]["b"] == "fast"


def test_the_function_takes_runs_groups_and_names(tmp_path: Path) -> None:
    made = [
        dressage.train("CartPole-v1", seeds=2, env_steps=2048, runs=tmp_path / str(lr), lr=lr)
        for lr in (1e-3, 1e-5)
    ]
    page = tmp_path / "page.html"
    named = dressage.compare(f"tuned={made[0].path}", made[1], html=page)
    assert [side.name for side in named.comparison.sides] == ["tuned", made[1].path.name]
    assert [side.seeds for side in named.comparison.sides] == [2, 2]
    assert "learning_rate" in page.read_text()
    joined = dressage.compare(made[0], f"{made[1].path},{made[0].path}")
    assert joined.comparison.sides[1].seeds == 4
