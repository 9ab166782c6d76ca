"""Probes of the environment: each fault is found, and healthy environments are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import probe_cases as cases
import pytest

from dressage.diagnosis.infer import HEALTHY
from dressage.diagnosis.probes.action_effect import action_effect
from dressage.diagnosis.probes.player import Features, Played, flat, play
from dressage.diagnosis.probes.random_return import random_return
from dressage.diagnosis.probes.result import ProbeResult, joined
from dressage.diagnosis.probes.run import run_probes
from dressage.diagnosis.probes.same_seed import same_seed
from dressage.diagnosis.probes.statistics import statistics
from dressage.diagnosis.probes.subject import Deadline, Subject
from dressage.envs.make import EnvRecipe
from dressage.envs.toys import Kinds
from dressage.runs.view import RunView, Series

STRONG = 3.0


def view(returns: float = np.nan) -> RunView:
    steps = np.linspace(1000, 50_000, 50)
    series = {"train/roll/ep_rew_mean": Series(steps, np.full(50, returns))}
    known = {} if np.isnan(returns) else series
    return RunView(Path("x"), "x", "sb3", "ppo", "Walk", series=known)


def subject(env: Any, **kwargs: Any) -> Subject:
    return Subject(view(), EnvRecipe(env, kwargs), why_not="another library's")


def strong(result: ProbeResult) -> set[str]:
    return {id for id, factor in result.factors.items() if factor >= STRONG}


def effect(env: Any, **kwargs: Any) -> ProbeResult:
    return action_effect(EnvRecipe(env, kwargs), Deadline.within(20))


def measured(env: Any, **kwargs: Any) -> ProbeResult:
    one = subject(env, **kwargs)
    return statistics(one, play(one.recipe, Deadline.within(0.5)))


def twice(env: Any, **kwargs: Any) -> ProbeResult:
    return same_seed(subject(env, **kwargs), Deadline.within(5))


@pytest.mark.parametrize(
    ("probe", "env", "cause"),
    [
        (effect, cases.ActionIgnored, "action-ignored"),
        (effect, cases.ActionDelayed, "action-delay"),
        (effect, cases.NoRoom, "action-space-degenerate"),
        (effect, cases.OneOfTwoDimensions, "action-ignored"),
        (measured, cases.ConstantSight, "obs-constant"),
        (measured, cases.SometimesNan, "nan-input"),
        (measured, cases.SharedSeed, "envs-share-seed"),
        (measured, cases.NeverReset, "env-not-reset"),
        (twice, cases.NeverReset, "env-not-reset"),
        (measured, cases.HugeRewards, "reward-scale-too-large"),
    ],
)
def test_a_fault_is_found(probe: Any, env: Any, cause: str) -> None:
    found = probe(env)
    assert strong(found) == {cause}, found.says
    assert strong(probe(cases.Walk)) == set()


def test_the_delay_is_measured() -> None:
    assert effect(cases.ActionDelayed).numbers["steps_until_effect"] == 3
    assert effect(cases.Walk).numbers["steps_until_effect"] == 0


def test_what_no_observation_shows_is_not_called_late() -> None:
    found = effect(cases.OnlyTheEndTells)
    assert "no observation shows it" in found.says and "action-delay" not in found.factors


def test_the_idle_dimension_is_named() -> None:
    found = effect(cases.OneOfTwoDimensions)
    assert "dimension 1" in found.says and "dimension 0" not in found.says


def test_chance_that_no_seed_reaches() -> None:
    assert "cannot be told from chance" in effect(cases.Chancy).says
    found = twice(cases.Chancy)
    assert found.numbers["instances_part_at"] == 1 and found.factors["single-seed-claim"] > 1.0
    assert twice(cases.Walk).numbers["instances_part_at"] == -1


HEALTHY_ENVS: dict[str, tuple[Any, dict[str, Any]]] = {
    "CartPole": ("CartPole-v1", {}),
    "Pendulum": ("Pendulum-v1", {}),
    "FrozenLake": ("FrozenLake-v1", {}),
    "CliffWalking": ("CliffWalking-v1", {}),
    "dict": (Kinds, {"observation": "dict", "action": "hybrid_dict"}),
    "image": (Kinds, {"observation": "image"}),
    "masked": (Kinds, {"masked": True, "action": "multi_discrete"}),
}


@pytest.mark.parametrize("name", HEALTHY_ENVS)
def test_healthy_environments_are_left_alone(name: str) -> None:
    env, kwargs = HEALTHY_ENVS[name]
    one = subject(env, **kwargs)
    results = [effect(env, **kwargs), measured(env, **kwargs), twice(env, **kwargs)]
    accused = {id for result in results for id in strong(result)}
    if name == "FrozenLake":  # nothing but zeros is what its random policy gets, nearly
        accused -= {"sparse-reward"}
    assert not accused, [result.says for result in results]
    assert one.recipe is not None and all(result.state == "done" for result in results)


def test_a_run_beside_chance() -> None:
    rng = np.random.default_rng(0)
    played = Played(returns=list(rng.normal(100.0, 20.0, 50)))
    better, same, worse = (random_return(view(level), played) for level in (400.0, 101.0, 20.0))
    assert better.factors["dead-policy-gradient"] < 1.0 and HEALTHY not in better.factors
    assert same.factors["dead-policy-gradient"] > 1.0 and same.factors[HEALTHY] < 1.0
    assert worse.factors["policy-loss-sign"] > STRONG and "worse than chance" in worse.says
    low, high = float(same.numbers["low"]), float(same.numbers["high"])
    assert low < np.mean(played.returns) < high and 8.0 < high - low < 15.0
    assert not random_return(view(), played).factors


def test_returns_of_another_reward_are_not_compared_with_chance() -> None:
    played = Played(returns=[-1200.0, -1300.0, -1250.0], rewards=[-6.0] * 600)
    scaled = view(-1.3e6)
    steps = scaled["train/roll/ep_rew_mean"].env_steps
    scaled.series["train/roll/ep_len_mean"] = Series(steps, np.full(len(steps), 200.0))
    found = random_return(scaled, played)
    assert "do not compare" in found.says and "policy-loss-sign" not in found.factors


def test_statistics_of_features_against_numpy() -> None:
    rows = np.random.default_rng(1).normal(3.0, [0.1, 10.0], (500, 2))
    features = Features()
    for row in rows:
        features.add(row)
    features.add(np.array([np.nan, 0.0]))
    assert features.not_finite == 1
    np.testing.assert_allclose(features.mean, rows.mean(0))
    np.testing.assert_allclose(features.std, rows.std(0))
    np.testing.assert_array_equal(features.low, rows.min(0))
    np.testing.assert_array_equal(features.high, rows.max(0))


def test_observations_of_any_space_are_flat() -> None:
    env = Kinds(observation="dict")
    obs, _ = env.reset(seed=0)
    assert flat(obs).shape == (8 * 8 * 3 + 1 + 2,)
    assert flat(5).tolist() == [5.0] and flat((1, np.array([2, 3]))).tolist() == [1.0, 2.0, 3.0]


def test_an_environment_that_raises_stops_no_other_probe() -> None:
    results = run_probes(subject(cases.Crashing), seconds=20.0)
    assert [result.state for result in results] == ["not run"] * 7
    assert "the motor is on fire" in results[0].says
    assert results[-1].says == "another library's"


def test_probes_keep_to_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(cases.Walk):
        def step(self, action: Any) -> Any:
            import time

            time.sleep(0.02)
            return super().step(action)

    from dressage.diagnosis.probes import run

    for name in ("RANDOM", "ACTIONS"):
        monkeypatch.setattr(run, name, getattr(run, name)._replace(seconds=0.5))
    lines: list[str] = []
    results = run_probes(subject(Slow), lines.append, seconds=1.2)
    assert [result.state for result in results[:2]] == ["cut short", "cut short"]
    assert "No time was left" in results[3].says
    assert lines[0].startswith("probe 1 of 7: random policy")
    assert all(result.seconds < 2.0 for result in results)


def test_factors_multiply_within_bounds() -> None:
    one = ProbeResult("a", "", factors={"x": 4.0, "y": 0.5})
    two = ProbeResult("b", "", factors={"x": 2.0, "z": 1e-9})
    found = joined([one, two])
    assert found == pytest.approx({"x": 8.0, "y": 0.5, "z": 1 / 1000})
    assert one.rules_in == ["x"] and one.rules_out == ["y"]


def test_a_time_limit_is_told() -> None:
    env = gym.wrappers.TimeLimit(cases.Walk(), 20)
    played = play(EnvRecipe(lambda: env), Deadline.within(0.2))
    assert played.limit == 20 and max(played.lengths) == 20
