"""Statistics over seeds: by hand, against scipy, and their promises in simulation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dressage.math.summary import interquartile_mean
from dressage.prove.bootstrap import aggregate, difference, improvement, profile
from dressage.prove.coverage import MEASURED, caution
from dressage.prove.looks import PLANNED, levels, spent, verdict
from dressage.prove.permutation import (
    cliffs_delta,
    hedges_g,
    holm,
    mid_ranks,
    permutation_test,
    probability_of_improvement,
    size_in_words,
    splits,
)
from dressage.prove.power import power, rank_sum_p, seeds_needed
from dressage.prove.survival import (
    Times,
    kaplan_meier,
    log_rank,
    log_rank_test,
    ratio_of_means,
    restricted_mean,
    times,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


A, B = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 5.0])


def test_probability_of_improvement_by_hand() -> None:
    # pairs (b, a): 2 beats 1, ties 2, loses to 3; 4 and 5 beat all: 7 and a half of 9
    assert probability_of_improvement(A, B) == pytest.approx(7.5 / 9)
    assert cliffs_delta(A, B) == pytest.approx(2 * 7.5 / 9 - 1)


def test_the_exact_permutation_test_by_hand() -> None:
    # three against three without overlap: 2 of 20 splits are as extreme
    found = permutation_test(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), rng())
    assert found.exact and found.p == pytest.approx(2 / 20) and found.better == 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [4, 7, 24])
def test_the_permutation_test_is_scipys_exact_rank_test(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=n), generator.normal(0.7, size=n)
    expected = stats.mannwhitneyu(a, b, method="exact").pvalue
    assert permutation_test(a, b, rng()).p == pytest.approx(expected)


def test_drawn_splits_come_near_all_splits() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=80), generator.normal(0.3, size=80)
    found = permutation_test(a, b, rng())
    assert not found.exact
    assert found.p == pytest.approx(stats.mannwhitneyu(a, b).pvalue, abs=0.01)


def test_splits_with_ties_are_counted_as_going_through_all_counts_them() -> None:
    from itertools import combinations

    ranks = np.array([3, 3, 3, 8, 8, 11, 14])
    sums = [sum(chosen) for chosen in combinations(ranks.tolist(), 3)]
    found = splits(ranks, 3)
    np.testing.assert_array_equal(found, np.bincount(sums, minlength=len(found)))


def test_equal_groups_are_no_evidence() -> None:
    same = np.full(8, 500.0)
    found = permutation_test(same, same, rng())
    assert found.p == 1.0 and found.better == 0.5


def test_mid_ranks_are_scipys() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0, 3.0, 1.0])
    np.testing.assert_allclose(mid_ranks(values), stats.rankdata(values))


def test_hedges_g_by_hand() -> None:
    # means 2 and 11/3, pooled variance (1 + 7/3) / 2, correction 1 - 3 / 15
    expected = (11 / 3 - 2) / math.sqrt((2 + 14 / 3) / 4) * (1 - 3 / 15)
    assert hedges_g(A, B) == pytest.approx(expected)
    assert math.isinf(hedges_g(np.ones(3), np.zeros(3)))


def test_sizes_in_words() -> None:
    assert [size_in_words(d) for d in (0.1, -0.2, 0.4, -0.9)] == [
        "negligible",
        "small",
        "medium",
        "large",
    ]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@pytest.mark.parametrize("bad", [(np.array([]), A), (A, np.array([np.nan]))])
def test_groups_that_cannot_be_ranked_are_refused(bad: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="value"):
        permutation_test(*bad, rng())


# -- intervals -----------------------------------------------------------------------------------


def covered(draw, truth: float, n: int, repeats: int = 400) -> tuple[float, float]:
    generator = np.random.default_rng(2)
    one = two = 0
    for _ in range(repeats):
        a, b = draw(generator, n), draw(generator, n)
        found = aggregate([a], generator, draws=300)
        one += found.low <= truth <= found.high
        apart = difference(a, b, generator, draws=300)
        two += apart.low <= 0.0 <= apart.high
    return one / repeats, two / repeats


@pytest.mark.parametrize("n", [10, 16])
def test_intervals_cover_as_often_as_they_say_of_runs_of_one_kind_and_of_two(n: int) -> None:
    """Within two points, and two and a half for the error of 400 repeats."""

    def two_kinds(g: np.random.Generator, n: int) -> np.ndarray:
        return np.where(g.random(n) < 0.5, g.normal(500.0, 5.0, n), g.normal(20.0, 5.0, n))

    for draw, truth in ((lambda g, n: g.normal(size=n), 0.0), (two_kinds, 260.0)):
        for share in covered(draw, truth, n):
            assert share == pytest.approx(0.95, abs=0.045)


def test_few_seeds_come_with_the_coverage_that_was_measured() -> None:
    made = Path(__file__).parents[2] / "benchmarks" / "results" / "proofs" / "coverage.json"
    rows = json.loads(made.read_text())["rows"]
    for seeds, told in MEASURED.items():
        least = [min(row[side] for row in rows if row["seeds"] == seeds) for side in ("one", "two")]
        assert told == tuple(math.floor(100 * share) / 100 for share in least)
    note = caution(3)
    assert note is not None and "72%" in note and "84%" in note
    assert caution(10) is None and caution(2) is None


def test_an_aggregate_over_tasks_is_that_of_all_runs() -> None:
    tasks = [np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 30.0, 40.0])]
    found = aggregate(tasks, rng())
    assert found.value == pytest.approx(interquartile_mean(np.concatenate(tasks)))
    assert found.low < found.value < found.high


def test_runs_are_drawn_within_their_task() -> None:
    """Two tasks without spread leave nothing to be unsure of, however far apart they are."""
    found = aggregate([np.full(5, 1.0), np.full(5, 9.0)], rng(), statistic=np.mean)
    assert found == (5.0, 5.0, 5.0)


def test_a_difference_and_an_improvement_have_intervals_around_them() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=30), generator.normal(1.0, size=30)
    apart, better = difference(a, b, rng()), improvement(a, b, rng())
    assert apart.low < apart.value < apart.high and apart.low > 0
    assert better.value == pytest.approx(probability_of_improvement(a, b))
    assert 0.5 < better.low < better.value < better.high <= 1
    assert math.isnan(difference(a[:1], b, rng()).low)


def test_a_profile_counts_runs() -> None:
    share, low, high = profile(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 9.0]), rng())
    np.testing.assert_allclose(share, [1.0, 2 / 3, 0.0])
    assert (low <= share).all() and (share <= high).all()


# -- censored times ------------------------------------------------------------------------------

# Ten runs of the first group of Freireich's leukaemia data, as Kaplan and Meier's curve is taught.
LEUKAEMIA = Times(
    np.array([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35.0]),
    np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], bool),
)
PLACEBO = Times(
    np.array([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23.0]),
    np.ones(21, bool),
)


def test_kaplan_meier_is_the_textbooks() -> None:
    at, share = kaplan_meier(LEUKAEMIA)
    assert at.tolist() == [6, 7, 10, 13, 16, 22, 23]
    np.testing.assert_allclose(share, [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], atol=6e-4)


def test_the_log_rank_test_is_the_textbooks() -> None:
    assert log_rank(LEUKAEMIA, PLACEBO) ** 2 == pytest.approx(16.79, abs=0.01)
    assert log_rank(LEUKAEMIA, PLACEBO) > 0  # the second ends sooner
    assert log_rank_test(LEUKAEMIA, PLACEBO, rng(), draws=500) < 0.01
    assert log_rank_test(PLACEBO, PLACEBO, rng(), draws=100) == 1.0


def test_a_restricted_mean_by_hand() -> None:
    # one of two at 4, the other never within 10: 4 * 1 + 6 * 1/2
    assert restricted_mean(times([4.0, None], [10.0, 10.0]), 10.0) == pytest.approx(7.0)
    assert restricted_mean(times([None, None], [10.0, 10.0]), 10.0) == 10.0
    assert restricted_mean(times([4.0, 8.0], [10.0, 10.0]), 5.0) == pytest.approx(4.5)


def test_runs_that_never_get_there_make_a_ratio_larger() -> None:
    fast, slow = times([2.0] * 8, [10.0] * 8), times([2.0] * 4 + [None] * 4, [10.0] * 8)
    value, low, high = ratio_of_means(fast, slow, 10.0, rng(), draws=200)
    assert value == pytest.approx(3.0) and 1 < low < value < high


def test_the_quick_way_to_restricted_means_is_the_long_way() -> None:
    """Where no run ends before the horizon, the area under the curve is a mean of cut times."""
    generator = np.random.default_rng(8)
    steps = generator.uniform(1, 20, size=12)
    given = Times(np.minimum(steps, 15.0), steps < 15.0)
    assert restricted_mean(given, 15.0) == pytest.approx(np.minimum(steps, 15.0).mean())
    assert restricted_mean(given, 9.0) == pytest.approx(np.minimum(steps, 9.0).mean())


# -- looks and power -----------------------------------------------------------------------------


def test_levels_add_up_to_alpha_and_the_first_can_be_reached() -> None:
    assert sum(levels()) == pytest.approx(0.05)
    assert spent(0.0) == 0.0 and spent(1.0) == pytest.approx(0.05)
    clear = permutation_test(np.arange(8.0), np.arange(8.0) + 100, rng())
    assert clear.p < levels()[0]


@pytest.mark.parametrize("planned", [(), (8, 8), (12, 8), (1, 8)])
def test_looks_that_are_no_plan_are_refused(planned: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rising"):
        levels(planned)


def test_verdicts() -> None:
    assert verdict(0.001, 0.02, 0.9) == "proven"
    assert verdict(0.001, 0.02, 0.1) == "worse"
    assert verdict(0.03, 0.02, 0.9) is None


@pytest.mark.parametrize("kind", ["normal", "bimodal"])
def test_all_looks_together_find_nothing_where_there_is_nothing(kind: str) -> None:
    """With two modes, as returns over seeds often have: some seeds solve the task, some never."""
    generator, found, repeats = np.random.default_rng(4), 0, 300
    for _ in range(repeats):
        both = generator.normal(size=(2, PLANNED[-1]))
        if kind == "bimodal":
            both = np.where(generator.random(both.shape) < 0.6, 500.0, 20 + both)
        for n, level in zip(PLANNED, levels(), strict=True):
            test = permutation_test(both[0, :n], both[1, :n], generator)
            if verdict(test.p, level, test.better) is not None:
                found += 1
                break
    assert found / repeats <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)


def test_the_quick_rank_test_is_scipys() -> None:
    generator = np.random.default_rng(5)
    a, b = generator.integers(0, 9, 15).astype(float), generator.integers(2, 11, 12).astype(float)
    expected = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert rank_sum_p(a, b) == pytest.approx(expected)


def test_more_seeds_give_more_power_and_a_clear_case_needs_few() -> None:
    generator = np.random.default_rng(6)
    a, b = generator.normal(size=10), generator.normal(1.0, size=10)
    assert power(a, b, 40, rng()) > power(a, b, 6, rng())
    far = seeds_needed(a, a + 100, rng())
    near = seeds_needed(a, a + 0.6, rng())
    assert far is not None and near is not None and far <= 5 < near
    assert seeds_needed(np.ones(5), np.ones(5), rng()) is None
