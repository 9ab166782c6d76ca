"""What a run cannot have is never named, and what it can have always may be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.settings import SETTINGS

from dressage.diagnosis.causes import CAUSES
from dressage.diagnosis.possible import (
    OF_EVALUATIONS,
    ONLY,
    RULED_OUT,
    SETTLED,
    possible_causes,
)
from dressage.presets.resolve import resolve
from dressage.runs.algorithms import FAMILY
from dressage.runs.view import RunView, Series

ANY = {"seed": 0}  # settings that say nothing


def run(algo: str, config: dict[str, Any] | None = None, library: str = "dressage") -> RunView:
    evaluated = {"val/roll/ep_rew_mean": Series(np.arange(3.0), np.ones(3))}
    return RunView(Path("run"), "run", library, algo, "CartPole-v1", config or {}, series=evaluated)


def test_only_known_causes_and_algorithms_are_named() -> None:
    assert set(ONLY) | set(RULED_OUT) <= set(CAUSES)
    assert all(algo in FAMILY for algos in ONLY.values() for algo in algos)


@pytest.mark.parametrize(
    ("algo", "never", "maybe"),
    [
        ("a2c", "clip-range-too-tight", "lr-too-high"),
        ("a2c", "value-clip-too-tight", "gae-lambda-extreme"),
        ("reinforce", "gae-lambda-extreme", "gamma-too-low"),
        ("td3", "sac-alpha-too-high", "no-action-noise"),
        ("sac", "no-action-noise", "action-noise-too-large"),
        ("dqn", "action-range-unnormalised", "no-exploration"),
        ("ppo", "sac-alpha-too-low", "too-many-epochs"),
        ("ppo", "distributed-desync", "action-std-explosion"),
    ],
)
def test_what_an_algorithm_does_not_have_is_not_at_fault(algo: str, never: str, maybe: str) -> None:
    found = possible_causes(run(algo))
    assert never not in found and maybe in found


def test_an_unknown_algorithm_may_have_anything() -> None:
    assert set(possible_causes(run("homemade", ANY, library="table"))) == set(CAUSES)


def test_settings_rule_out_what_they_switch_off() -> None:
    off = {"clip_range_vf": None, "target_kl": None, "ent_coef": 0.0, "n_envs": 1}
    ruled_out = set(possible_causes(run("ppo", ANY))) - set(possible_causes(run("ppo", off)))
    assert ruled_out == {
        "value-clip-too-tight",
        "target-kl-too-tight",
        "entropy-bonus-too-high",
        "envs-share-seed",
    }
    on = {"clip_range_vf": 0.2, "target_kl": 0.001, "ent_coef": 0.01, "n_envs": 8}
    assert possible_causes(run("ppo", on)) == possible_causes(run("ppo", ANY))


@pytest.mark.parametrize("cause", sorted(SETTLED))
def test_a_setting_well_inside_its_range_is_not_to_blame(cause: str) -> None:
    setting, low, high = SETTLED[cause]
    algo = next(a for a in ("ppo", "sac", "dqn") if cause in possible_causes(run(a)))
    for value in (low, high):
        if math.isfinite(value):
            assert cause not in possible_causes(run(algo, {setting: value}))
    for value in (low / 2, high * 2):
        if math.isfinite(value) and value != 0:
            assert cause in possible_causes(run(algo, {setting: value}))


@pytest.mark.parametrize(
    ("algo", "cause", "settled", "open_"),
    [
        ("ppo", "optimizer-choice", {"optimizer": "adam"}, {"optimizer": "sgd"}),
        ("ppo", "network-too-small", {"net_arch": [64, 64]}, {"net_arch": [64, 1]}),
        ("sac", "sac-alpha-too-high", {"ent_coef": "auto"}, {"ent_coef": 20.0}),
    ],
)
def test_what_the_settings_say_rules_causes_out(
    algo: str, cause: str, settled: dict[str, Any], open_: dict[str, Any]
) -> None:
    assert cause not in possible_causes(run(algo, settled))
    assert cause in possible_causes(run(algo, open_)) and cause in possible_causes(run(algo))


def test_where_values_learn_at_the_policys_rate_rates_do_not_differ() -> None:
    assert "value-lr-mismatch" not in possible_causes(run("ppo", library="sb3"))
    assert "value-lr-mismatch" in possible_causes(run("ppo"))


def test_idle_hardware_and_a_slow_environment_are_told_apart_by_settings_alone() -> None:
    assert "hardware-underused" not in possible_causes(run("ppo"))
    assert "hardware-underused" in possible_causes(run("ppo", {"backend": "process"}))


@pytest.mark.parametrize(("error", "blamed"), [(1e-6, False), (1.3, True)])
def test_returns_that_were_worked_out_twice_are_not_to_blame(error: float, blamed: bool) -> None:
    checked = run("ppo")
    checked.series["train/metrics/returns_error"] = Series(np.arange(6.0), np.full(6, error))
    assert ("returns-misaligned" in possible_causes(checked)) == blamed
    assert "returns-misaligned" in possible_causes(run("ppo")), "not checked"


def test_without_evaluations_nothing_is_said_of_them() -> None:
    silent = run("ppo")
    silent.series.clear()
    assert set(possible_causes(run("ppo"))) - set(possible_causes(silent)) == set(OF_EVALUATIONS)


def test_choices_have_no_deviation() -> None:
    chosen = run("ppo")
    chosen.spec["action_space"] = "Discrete(2)"
    assert "action-std-explosion" not in possible_causes(chosen)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_no_fault_of_the_benchmark_is_ruled_out(name: str) -> None:
    fault = FAULTS[name]
    for place in fault.settings:
        setting = SETTINGS[place]
        for level in fault.levels:
            changed = setting.config | level.changes(setting)
            config = resolve(
                setting.env, setting.algo, changed, use_preset=False, trust=True
            ).values()
            assert fault.cause in possible_causes(run(setting.algo, config)), (place, changed)


@pytest.mark.parametrize(
    ("rates", "restarts", "ends"),
    [
        (np.full(10, 3e-4), False, False),
        (np.linspace(3e-4, 3e-5, 10), False, True),
        (np.array([3e-4, 2e-4, 1e-4, 3e-4, 2e-4, 1e-4]), True, True),
        (np.array([3e-4, 3e-4]), True, True),  # too few rows to tell
    ],
)
def test_schedules_are_to_blame_only_where_settings_moved(
    rates: np.ndarray, restarts: bool, ends: bool
) -> None:
    view = run("ppo", library="sb3")
    view.series["train/hp/lr"] = Series(np.arange(float(len(rates))), rates)
    view.series["train/hp/clip_range"] = Series(np.arange(10.0), np.full(10, 0.2))
    found = possible_causes(view)
    assert ("schedule-restarts" in found) == restarts
    assert ("lr-schedule-ends-early" in found) == ends
    view.series["train/hp/clip_range"].values[5] = 0.4
    assert "schedule-restarts" in possible_causes(view)


@pytest.mark.parametrize(
    ("share", "blamed"), [(1.0, False), (0.9, False), (0.3, True), (20.0, True)]
)
def test_evaluations_that_agree_with_training_are_no_cause(share: float, blamed: bool) -> None:
    view, steps = run("ppo"), np.linspace(0.0, 1e5, 60)
    curve = 20.0 + 400.0 * np.minimum(steps / 5e4, 1.0)
    view.series["train/roll/ep_rew_mean"] = Series(steps, curve)
    view.series["train/roll/ep_rew_std"] = Series(steps, np.full(60, 15.0))
    view.series["val/roll/ep_rew_mean"] = Series(steps[::6], share * curve[::6])
    found = possible_causes(view)
    assert ("normaliser-mismatch" in found) == blamed
    assert ("eval-env-mismatch" in found) == blamed
    if share < 1.0:
        view.series["val/roll/ep_rew_mean"].values[-2] = curve[-1]  # once is enough
        assert "eval-env-mismatch" not in possible_causes(view)


def test_sb3_logs_the_range_of_values_if_there_is_one() -> None:
    view, steps = run("ppo", library="sb3"), np.arange(10.0)
    assert "value-clip-too-tight" in possible_causes(view)  # no row of updates, nothing known
    view.series["train/loss/value"] = Series(steps, np.ones(10))
    assert "value-clip-too-tight" not in possible_causes(view)
    view.series["train/hp/clip_range_vf"] = Series(steps, np.full(10, 0.2))
    assert "value-clip-too-tight" in possible_causes(view)
