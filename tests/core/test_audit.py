"""What is learned from, checked against what was collected."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dressage
from dressage.core.audit import (
    ADVANTAGES_FIT,
    ENDS_KEPT,
    KEPT,
    MOVED,
    RETURNS_ERROR,
    advantage_metrics,
    kept_metrics,
    moved_metrics,
)
from dressage.core.steps import Steps
from dressage.core.summaries import column_metrics
from dressage.math.returns import gae

CFG = SimpleNamespace(gamma=0.95, gae_lambda=0.8)
T, N = 40, 3
WRONG_SIGN = """
from dressage.algos import ppo
from dressage.algos.ppo import *

def prepare(learner, steps, cfg):
    steps, metrics = ppo.prepare(learner, steps, cfg)
    return steps._replace(extras=steps.extras | {"advantage": -steps.extras["advantage"]}), metrics
"""


def rollout(seed: int = 0) -> Steps:
    """Steps with the advantages and returns that generalised advantage estimation gives."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
    terminated, clock = rng.random((T, N)) < 0.05, rng.random((T, N)) < 0.05
    value, after = draw(T, N), draw(T, N)
    going_on = ~(terminated | clock)[:-1]
    after[:-1][going_on] = value[1:][going_on]
    reward = 1.0 + draw(T, N)
    advantage, returns = gae(reward, value, after, terminated, clock, CFG.gamma, CFG.gae_lambda)
    extras = {"value": value, "advantage": advantage, "returns": returns}
    return Steps(draw(T, N, 4), draw(T, N, 1), reward, terminated, clock, draw(T, N, 4), extras)


def changed(steps: Steps, **extras: Any) -> Steps:
    return steps._replace(extras=steps.extras | extras)


def test_what_gae_gives_is_right() -> None:
    found = advantage_metrics(rollout(), CFG)
    assert found[ADVANTAGES_FIT] == pytest.approx(1.0, abs=1e-6)
    assert found[RETURNS_ERROR] < 1e-5


def test_normalised_advantages_are_as_good() -> None:
    steps = rollout()
    x = steps.extras["advantage"]
    found = advantage_metrics(changed(steps, advantage=(x - x.mean()) / x.std()), CFG)
    assert found[ADVANTAGES_FIT] == pytest.approx(1.0, abs=1e-6)


def test_a_sign_that_is_turned_round_shows() -> None:
    steps = rollout()
    found = advantage_metrics(changed(steps, advantage=-steps.extras["advantage"]), CFG)
    assert found[ADVANTAGES_FIT] == pytest.approx(-1.0, abs=1e-6)
    assert found[RETURNS_ERROR] < 1e-5


def test_a_broadcast_says_nothing() -> None:
    steps = rollout()
    mean = np.full_like(steps.reward, steps.extras["advantage"].mean())
    assert advantage_metrics(changed(steps, advantage=mean), CFG)[ADVANTAGES_FIT] == 0.0


@pytest.mark.parametrize("rows", [1, 6])
def test_returns_of_other_rows_show(rows: int) -> None:
    steps = rollout()
    moved = {k: np.roll(steps.extras[k], rows, axis=0) for k in ("advantage", "returns")}
    assert advantage_metrics(changed(steps, **moved), CFG)[RETURNS_ERROR] > 0.3


def test_another_discount_shows() -> None:
    """What the error is measured by is the config, not the code that is checked."""
    other = SimpleNamespace(gamma=0.5, gae_lambda=0.8)
    assert advantage_metrics(rollout(), other)[RETURNS_ERROR] > 0.1


def test_without_a_baseline_returns_are_advantages() -> None:
    steps = rollout()
    returns = np.zeros((T, N))
    for t in reversed(range(T)):
        later = np.where(steps.terminated[t] | steps.truncated[t], 0.0, returns[(t + 1) % T])
        returns[t] = steps.reward[t] + CFG.gamma * (later if t < T - 1 else 0.0)
    cfg = SimpleNamespace(gamma=CFG.gamma, baseline=False)
    found = advantage_metrics(changed(steps, returns=returns, advantage=returns), cfg)
    assert found == {ADVANTAGES_FIT: pytest.approx(1.0), RETURNS_ERROR: pytest.approx(0, abs=1e-6)}


def test_steps_without_advantages_say_nothing_of_them() -> None:
    assert advantage_metrics(rollout()._replace(extras={}), CFG) == {}


def test_numbers_that_are_not_finite_are_left_to_others() -> None:
    steps = rollout()
    broken = np.full_like(steps.reward, np.nan)
    assert advantage_metrics(changed(steps, returns=broken), CFG) == {}


def test_steps_that_are_kept_and_steps_that_are_not() -> None:
    steps = rollout()
    assert kept_metrics(steps, steps, CFG) == {KEPT: 1.0, ENDS_KEPT: 1.0}
    for name in ("obs", "action", "reward", "next_obs"):
        other = np.array(getattr(steps, name))
        other[:10] += 1.0
        found = kept_metrics(steps, steps._replace(**{name: other}), CFG)
        assert found[KEPT] == pytest.approx(0.75), name
        assert found[ENDS_KEPT] == 1.0


def test_ends_that_are_lost_or_of_another_kind_show() -> None:
    steps = rollout()
    none = np.zeros_like(steps.terminated)
    lost = kept_metrics(steps, steps._replace(terminated=none, truncated=none), CFG)
    assert lost[ENDS_KEPT] == 0.0 and lost[KEPT] == 1.0
    as_ends = steps._replace(terminated=steps.terminated | steps.truncated, truncated=none)
    ends = steps.terminated | steps.truncated
    by_the_task = steps.terminated.sum() / ends.sum()
    assert kept_metrics(steps, as_ends, CFG)[ENDS_KEPT] == pytest.approx(by_the_task)
    assert ENDS_KEPT not in kept_metrics(
        *[steps._replace(terminated=none, truncated=none)] * 2, CFG
    )


def test_a_bonus_is_no_change_of_the_reward() -> None:
    steps, cfg = rollout(), SimpleNamespace(gamma=0.9, bonus="rnd")
    assert kept_metrics(steps, steps._replace(reward=steps.reward + 1.0), cfg)[KEPT] == 1.0


def test_observations_of_several_parts_and_other_shapes() -> None:
    steps = rollout()
    both = steps._replace(obs={"a": steps.obs, "b": steps.obs}, next_obs=None)
    other = both._replace(obs={"a": steps.obs, "b": -steps.obs})
    assert kept_metrics(both, both, CFG)[KEPT] == 1.0
    assert kept_metrics(both, other, CFG)[KEPT] == 0.0
    assert kept_metrics(steps, steps._replace(obs=steps.obs[..., :2]), CFG)[KEPT] == 0.0


def test_numbers_of_unlike_scale_and_numbers_that_never_change() -> None:
    obs = np.random.default_rng(0).normal(size=(T, N, 4)).astype(np.float32)
    obs[..., 1] *= 1000.0
    obs[..., 3] = 7.0
    steps = rollout()._replace(obs=obs)
    found = column_metrics(steps)
    assert found["train/roll/obs_constant_share"] == 0.25
    expected = obs[..., 1].std() / min(obs[..., 0].std(), obs[..., 2].std())
    assert found["train/roll/obs_scale_ratio"] == pytest.approx(expected, rel=1e-5)
    assert column_metrics(steps._replace(obs=obs[:5])) == {}, "too few steps"
    assert column_metrics(steps._replace(obs=(obs > 0).astype(np.float32))) == {}, "switches"
    assert column_metrics(steps._replace(obs=(255 * obs).astype(np.uint8))) == {}, "an image"


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_run_is_checked_on_either_engine(engine: str, tmp_path: Path) -> None:
    run = dressage.train(
        "CartPole-v1", algo="ppo", preset=False, env_steps=2048, n_envs=4, n_steps=64,
        batch_size=64, n_epochs=2, engine=engine, runs=tmp_path,
    )  # fmt: skip
    kept, ends, fit, error = (
        run.metrics(name)[name] for name in (KEPT, ENDS_KEPT, ADVANTAGES_FIT, RETURNS_ERROR)
    )
    assert np.isfinite(fit).sum() >= 5, "six looks, two of which may share a row"
    assert np.nanmin(kept) == np.nanmin(ends) == 1.0
    assert np.nanmin(fit) > 1.0 - 1e-6 and np.nanmax(error) < 1e-4


def test_arrays_that_move_are_counted_by_chunk() -> None:
    before = {"policy": [np.zeros(3), np.ones((2, 2))], "value": [np.zeros(1)], "alpha": []}
    after = {"policy": [np.array([0.0, 1e-9, 0.0]), np.ones((2, 2))], "value": [np.zeros(1)]}
    norms = {f"train/metrics/grad_norm/{name}": 1.0 for name in ("policy", "total")}
    assert moved_metrics(before, after, norms) == {f"{MOVED}policy": 0.5}
    assert moved_metrics(before, after, {}) == {}, "no update was made"


OFF_POLICY = {"learning_starts": 200, "env_steps": 1000, "batch_size": 32}
MOVING: dict[str, dict[str, Any]] = {
    "ppo": {"env": "CartPole-v1", "env_steps": 2048, "n_envs": 4, "n_steps": 64},
    "dqn": {"env": "CartPole-v1", **OFF_POLICY},
    "sac": {"env": "Pendulum-v1", **OFF_POLICY},
}
CHUNKS = {"ppo": {"policy", "value"}, "dqn": {"q"}, "sac": {"actor", "alpha", "critic"}}


@pytest.mark.parametrize("algo", MOVING)
@pytest.mark.parametrize("engine", ["native", "torch"])
def test_all_layers_move_on_either_engine(engine: str, algo: str, tmp_path: Path) -> None:
    run = dressage.train(
        **MOVING[algo], algo=algo, preset=False, net_arch=[16, 16], engine=engine, runs=tmp_path,
        final_eval_episodes=1,
    )  # fmt: skip
    moved = {k.removeprefix(MOVED): v for k, v in run.metrics().items() if k.startswith(MOVED)}
    assert moved.keys() == CHUNKS[algo]
    for name, cells in moved.items():
        known = cells[np.isfinite(cells)]
        assert len(known) >= 4 and (known == 1.0).all(), name


FROZEN = """
from dressage.algos import ppo
from dressage.algos.ppo import *

def init(task, cfg):
    learner = ppo.init(task, cfg)
    torso = learner.nets["actor_critic"].policy["torso"]
    layer = next(m for m in torso.modules() if type(m).__name__ == "Linear")
    layer.requires_grad_(False)
    return learner
"""


def test_a_layer_that_is_frozen_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "frozen_layer.py").write_text(FROZEN)
    monkeypatch.syspath_prepend(tmp_path)
    run = dressage.train(
        "CartPole-v1", algo="frozen_layer", preset=False, env_steps=4096, n_envs=4, n_steps=64,
        runs=tmp_path,
    )  # fmt: skip
    found = run.metrics()
    policy, value = found[f"{MOVED}policy"], found[f"{MOVED}value"]
    assert np.nanmax(policy) == np.nanmin(policy) == pytest.approx(4 / 6), "a weight and a bias"
    assert np.nanmin(value) == 1.0
    (report,) = dressage.diagnose(run)
    assert "OPT049" in {symptom.rule for symptom in report.diagnosis.symptoms}


def test_an_algorithm_of_ones_own_with_a_wrong_sign_is_named(
    tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "wrong_sign.py").write_text(WRONG_SIGN)
    monkeypatch.syspath_prepend(tmp_path)
    run = dressage.train(
        "CartPole-v1", algo="wrong_sign", preset=False, env_steps=8192, n_envs=4, n_steps=128,
        batch_size=128, n_epochs=4, learning_rate=1e-3, runs=tmp_path,
    )  # fmt: skip
    assert np.nanmax(run.metrics(ADVANTAGES_FIT)[ADVANTAGES_FIT]) < -0.99
    (report,) = dressage.diagnose(run)
    first = report.diagnosis.causes[0]
    assert first.id == "policy-loss-sign"
    assert any("Advantages correlate by -1.00" in line for line in first.evidence)
