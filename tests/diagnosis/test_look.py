"""How rules look at a run: against a few lines of numpy, and by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dressage.diagnosis import look
from dressage.diagnosis.registry import all_rules
from dressage.runs.view import Episodes, RunView, Series

STEPS = np.linspace(0, 1000, 101)


def series(values: Any, steps: Any = STEPS) -> Series:
    return Series(np.asarray(steps, float), np.asarray(values, float))


def run(config: dict[str, Any] | None = None, **metrics: Series) -> RunView:
    return RunView(Path("x"), "x", "sb3", "ppo", "CartPole-v1", config or {}, series=metrics)


def test_start_end_and_size() -> None:
    values = series(np.r_[np.nan, 5.0, 1.0, 2.0, np.full(94, -7.0), 4.0, np.nan, 3.0])
    assert look.start(values) == 2.0 and look.end(values) == 3.0
    assert look.size(values) == 7.0
    assert math.isnan(look.start(series([], [])))


def test_the_parts_of_a_short_log_are_its_nearest_rows() -> None:
    """15 rows: a tenth of the run holds one or two of them, and three stand for it."""
    short = series(np.arange(15.0), np.arange(15.0))
    assert look.part(short, 0.0, 0.05).tolist() == [0.0, 1.0, 2.0]
    assert look.median(short, 0.9) == 13.0
    assert look.part(short, 0.5, 0.5).tolist() == [7.0]  # a part in the middle is as it is
    long = series(np.arange(101.0))
    assert look.part(long, 0.0, 0.05).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    few = series(np.arange(6.0), np.arange(6.0))
    assert look.part(few, 0.0, 0.05).tolist() == [0.0] and math.isnan(look.median(few, 0.8))


def test_growth_is_between_parts_of_the_run() -> None:
    values = series(np.where(STEPS < 500, -2.0, 30.0))
    assert look.growth(values, (0.0, 0.4), (0.6, 1.0)) == pytest.approx(15.0)
    assert math.isnan(look.growth(series(np.zeros(101)), (0.0, 0.4), (0.6, 1.0)))


def test_a_trend_is_no_spike() -> None:
    noise = 0.01 * np.random.default_rng(0).normal(size=101)
    ramp, spiky = 1 + STEPS / 10 + noise, 1 + noise
    spiky[60] = 40.0
    assert look.largest_spike(series(ramp))[1] < 2.0
    deviations, times = look.largest_spike(series(spiky))
    assert deviations > 1000 and times == pytest.approx(40.0, rel=0.05)


def test_a_setting_is_taken_from_the_log_before_the_config() -> None:
    view = run({"learning_rate": "linear(1e-3, 0)"})
    assert look.in_force(view, "learning_rate", "train/hp/lr") == pytest.approx(1e-3)
    assert look.in_force(view, "learning_rate", "train/hp/lr", 1.0) == 0.0
    view.series["train/hp/lr"] = series(np.linspace(5e-4, 1e-4, 101))
    assert look.in_force(view, "learning_rate", "train/hp/lr") == pytest.approx(5e-4, rel=0.02)
    assert look.in_force(view, "learning_rate", "train/hp/lr", 1.0) == pytest.approx(1e-4, rel=0.05)
    assert math.isnan(look.in_force(run({"gamma": "high"}), "gamma"))


def test_counters_tell_what_the_config_would() -> None:
    """Rollouts of 200 steps, 4 passes, minibatches of 50: 16 updates a rollout."""
    rounds = np.arange(1, 21)
    steps = 200.0 * rounds
    view = run(
        **{
            "train/cnt/iterations": series(rounds, steps),
            "updates": series(16 * rounds, steps),
            "train/metrics/epochs_done": series(np.full(20, 4.0), steps),
        }
    )
    assert look.counts(view) == pytest.approx((200.0, 16.0, 4.0, 50.0))
    del view.series["train/cnt/iterations"]
    view.series["train/loss/policy"] = series(np.zeros(20), steps)  # a row a round
    assert look.counts(view) == pytest.approx((200.0, 16.0, 4.0, 50.0))
    told = look.counts(run({"n_steps": 25, "n_envs": 8, "n_epochs": 4, "batch_size": 50}))
    assert (told.env_steps, told.epochs, told.batch) == (200.0, 4.0, 50.0)


def test_choices() -> None:
    view = run()
    assert look.choices(view) == 2  # of CartPole
    view.env = "my-task"
    assert look.choices(view) is None
    view.spec = {"action": {"leaves": [{"categories": [7]}]}}
    assert look.choices(view) == 7
    view.spec = {"action_space": "Discrete(5)"}
    assert look.choices(view) == 5


def test_names_of_other_libraries() -> None:
    view = run(**{"mean/disc/disc_acc_gen": series(STEPS), "mean/disc/disc_acc": series(STEPS + 1)})
    assert look.like(view, "disc_acc").values[0] == 1.0
    assert not look.like(view, "acc")


def test_a_long_run_is_thinned_and_keeps_what_is_odd() -> None:
    values = np.arange(1e5)
    values[70_001] = np.nan
    view = run(**{"train/loss/value": series(values, np.arange(1e5))})
    view.episodes = Episodes(np.arange(1e5), np.arange(1e5), np.ones(10**5))
    thin = look.thin(view)
    kept = thin["train/loss/value"]
    assert len(kept.values) <= look.MOST_ROWS + 2
    assert kept.env_steps[0] == 0 and kept.env_steps[-1] == 1e5 - 1
    assert np.isnan(kept.values).sum() == 1
    known = np.isfinite(kept.values)
    np.testing.assert_array_equal(kept.values[known], kept.env_steps[known])
    assert len(thin.episodes.returns) == 5 * look.MOST_ROWS
    assert look.median(kept) == pytest.approx(np.nanmedian(values), rel=1e-3)
    short = run(**{"train/loss/value": series(STEPS)})
    assert look.thin(short) is short


def test_rules_say_nothing_of_odd_logs() -> None:
    """One row, NaN alone, infinities, constants: no rule raises, and what is said has numbers."""
    names = [n for rule in all_rules().values() for n in (*rule.needs, *rule.either) if "/" in n]
    names = sorted({n.replace("*", "policy") for n in names})
    odd = {
        "one row": (np.array([100.0]), np.array([1.0])),
        "nan": (STEPS, np.full(101, np.nan)),
        "infinite": (STEPS, np.full(101, np.inf)),
        "zero": (STEPS, np.zeros(101)),
        "one step": (np.full(101, 50.0), np.ones(101)),
        "huge": (STEPS, np.full(101, 1e308)),
    }
    for steps, values in odd.values():
        for algo in ("ppo", "dqn", "sac", "td3", "cql", "bc", None):
            view = run(**{name: Series(steps, values) for name in names})
            view.algo = algo
            with np.errstate(all="ignore"):
                for rule in all_rules().values():
                    if rule.can_see(view):
                        _, found = rule.look(view)
                        assert found is None or " nan " not in found.says, found


@pytest.mark.parametrize(("late", "told"), [(1.0, True), (0.6, False), (0.0, False)])
def test_a_return_of_two_values_is_learned_where_it_is_at_its_top(late: float, told: bool) -> None:
    """One step an episode, which pays 1 or -1: single episodes spread by 1, as far as it rises."""
    draw = np.random.default_rng(0)
    ended = np.arange(1.0, 1001.0)
    won = draw.random(1000) < np.where(ended < 200, 0.5, (1 + late) / 2)
    single = np.where(won, 1.0, -1.0)
    means = np.array([single[max(0, int(at) - 100) : int(at)].mean() for at in STEPS[1:]])
    found = run(**{"train/roll/ep_rew_mean": series(means, STEPS[1:])})
    found.episodes, found.env_steps = Episodes(ended, single, np.ones(1000)), 1000.0
    assert look.early_spread(found) > 0.9
    assert look.at_the_top(found) is told and look.learned(found) is told


def test_weights_without_gradients_stand_still_without_need() -> None:
    moves = series(np.where(STEPS < 300, 1e-3, 0.0))
    gone, left = series(np.where(STEPS < 300, 1.0, 0.0)), series(np.ones(101))
    rule = all_rules()["OPT035"]
    name, norm = "train/metrics/update_to_weight/q", "train/metrics/grad_norm/q"
    assert rule.check(run(**{name: moves, norm: left})) is not None
    assert rule.check(run(**{name: moves, norm: gone})) is None
