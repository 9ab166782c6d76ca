"""Exploration bonuses: what they are worth, and that they leave everything else as it was."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from dressage import conformance
from dressage.algos import ppo
from dressage.algos.actor_critic import init
from dressage.core.algorithm import Task
from dressage.core.config import RunConfig
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError
from dressage.explore import bonus, icm
from dressage.native.algorithm import why_not
from dressage.nets.bonus import Counts, Moments, Seen
from dressage.presets.resolve import resolve

PLACES = 12
RUN = RunConfig(env="none")


def task(observation: Any, action: Any) -> Task:
    spec = TaskSpec(ObsCodec.from_space(observation), ActionCodec.from_space(action), False)
    return Task(spec, RUN, Rng(5))


def learner(kind: str, **given: Any) -> tuple[Any, ppo.Config]:
    cfg = ppo.Config(bonus=kind, **given)
    return init(task(spaces.Discrete(PLACES), spaces.Discrete(2)), cfg), cfg


def steps(places: Any, seed: int = 0) -> Steps:
    """`[T, N]` numbers of places that were reached, each from the one before it."""
    draw = np.random.default_rng(seed)
    after, before = (np.eye(PLACES, dtype=np.float32)[np.asarray(places) - k] for k in (0, 1))
    action = draw.integers(0, 2, (*after.shape[:2], 1)).astype(np.float32)
    ends = np.zeros(after.shape[:2], bool)
    reward = draw.normal(size=after.shape[:2]).astype(np.float32)
    return Steps(before, action, reward, ends, ends, after, {})


def test_moments_against_numpy() -> None:
    parts = [np.random.default_rng(i).normal(i, 1 + i, (7 + i, 3)) for i in range(4)]
    moments, everything = Moments((3,)), np.concatenate(parts)
    for part in parts:
        moments.merge(torch.from_numpy(part.astype(np.float32)))
    assert int(moments.count) == len(everything)
    assert np.allclose(moments.mean, everything.mean(0), atol=1e-5)
    assert np.allclose(moments.var, everything.var(0), rtol=1e-5)


def test_observations_are_normalised_and_images_stay_images() -> None:
    seen = Seen({"vector": (2,), "image": (1, 8, 8)})
    draw = torch.Generator().manual_seed(0)
    obs = {
        "vector": 100.0 + 7.0 * torch.randn(500, 2, generator=draw),
        "image": torch.randint(0, 256, (500, 1, 8, 8), dtype=torch.uint8, generator=draw),
    }
    seen.merge(obs)
    found = seen(obs)
    assert found["vector"].mean(0).abs().max() < 1e-4
    assert (found["vector"].std(0) - 1).abs().max() < 0.01
    assert (found["image"] / 255).std().item() == pytest.approx(1.0, abs=0.01)
    far = seen({**obs, "vector": torch.full((1, 2), 1e6)})
    assert torch.all(far["vector"] == 5.0)
    swapped = {"image": obs["image"], "vector": obs["vector"]}
    assert torch.equal(seen.flat(obs), seen.flat(swapped))


def test_counts_are_counts() -> None:
    spec = task(spaces.Discrete(PLACES), spaces.Discrete(2)).spec
    net = Counts(spec, 32, Rng(1))
    states = torch.eye(PLACES)
    for _ in range(50):  # so that the scale of observations stands still
        net.seen.merge(states)
    visited = torch.tensor([0] * 9 + [3] * 4 + [7])
    for place in visited.split(2):
        net.table.index_add_(0, net.places(states[place]), torch.ones(len(place)).int())
    expected = torch.tensor([9, 1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 1])
    assert torch.equal(net.visits(states), expected.int())  # 1 where never, and where once


def test_positions_on_a_line_have_many_hashes() -> None:
    spec = task(spaces.Box(0.0, 50.0, (1,), np.float32), spaces.Discrete(2)).spec
    net = Counts(spec, 32, Rng(1))
    line = torch.linspace(0, 50, 200)[:, None]
    net.seen.merge(line)
    assert 15 < len(net.places(line).unique()) <= 33  # 32 signs cut a line into at most 33


@pytest.mark.parametrize("kind", ["rnd", "icm"])
def test_what_is_seen_often_loses_its_bonus(kind: str) -> None:
    made, cfg = learner(kind, bonus_coef=1.0, bonus_learning_rate=3e-3)
    known = np.random.default_rng(0).integers(0, PLACES - 1, (16, 8))
    for i in range(60):
        bonus.rewarded_rollout(made, steps(known, i), cfg)
    mixed = known.copy()
    mixed[::4] = PLACES - 1  # a place never seen
    given = steps(mixed, 99)
    # one rollout: all of it is judged before the network learns from it
    found, metrics = bonus.rewarded_rollout(made, given, cfg)
    extra = found.reward - given.reward
    assert extra[::4].mean() > 3 * extra[1::4].mean()
    assert metrics["train/roll/intrinsic_mean"] == pytest.approx(extra.mean(), rel=1e-4)
    assert metrics["train/roll/extrinsic_mean"] == pytest.approx(given.reward.mean(), rel=1e-4)
    assert made.updates == 0  # its steps are not the algorithm's


def test_the_bonus_is_of_size_one_and_times_its_coefficient() -> None:
    places = np.random.default_rng(0).integers(0, PLACES, (16, 8))
    found = []
    for coefficient in (1.0, 0.5):
        made, cfg = learner("rnd", bonus_coef=coefficient)
        after, _ = bonus.rewarded_rollout(made, steps(places), cfg)
        found.append(after.reward - steps(places).reward)
    assert np.sqrt(np.square(found[0]).mean()) == pytest.approx(1.0, rel=1e-3)
    assert np.allclose(found[1], 0.5 * found[0], atol=1e-6)


def test_foretelling_does_not_train_the_features() -> None:
    made, _ = learner("icm")
    net, given = made.nets["bonus"], steps(np.arange(PLACES)[:, None])
    rows = Steps(*(torch.from_numpy(x)[:, 0] for x in given[:6]), {})
    ahead, guess = net(rows.obs, rows.action, rows.next_obs)
    parameters = list(net.learned["features"].parameters())
    first = torch.autograd.grad(ahead.mean(), parameters, allow_unused=True, retain_graph=True)
    second = torch.autograd.grad(guess.mean(), parameters)
    assert all(gradient is None for gradient in first)
    assert all(gradient.abs().sum() > 0 for gradient in second)
    total, metrics = icm.loss(made.nets, rows)
    assert total.item() == pytest.approx(
        0.2 * float(metrics["train/loss/bonus"]) + 0.8 * float(metrics["train/loss/bonus_inverse"])
    )


def test_a_batch_of_sequences_has_bonuses_step_by_step() -> None:
    places = np.random.default_rng(0).integers(0, PLACES, (5, 6))
    given = steps(places)
    found = []
    for shape in ((5, 6), (30,)):
        made, cfg = learner("rnd", bonus_coef=1.0)
        batch = made.tensors(
            Steps(*(np.ascontiguousarray(x).reshape(*shape, *x.shape[2:]) for x in given[:6]), {})
        )
        made.nets["bonus"].observe(batch.next_obs.reshape(30, -1))
        after, _ = bonus.rewarded_batch(made, batch, cfg)
        found.append((after.reward - batch.reward).reshape(-1))
    assert torch.allclose(*found)


def test_without_a_bonus_nothing_happens() -> None:
    made, cfg = learner("none")
    given = steps(np.zeros((4, 2), int))
    assert bonus.rewarded_rollout(made, given, cfg) == (given, {})
    assert "bonus" not in made.nets
    assert bonus.kind_of(SimpleNamespace()) is None  # an algorithm that knows no bonus


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ConfigError, match="n_step=3 do not go together"):
        resolve("CartPole-v1", "dqn", {"bonus": "rnd", "n_step": 3}, use_preset=False)


def test_the_native_engine_says_why_it_has_none() -> None:
    resolved = resolve("CartPole-v1", "ppo", {"bonus": "counts"}, use_preset=False)
    spec = task(spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(2)).spec
    assert why_not(resolved.algo, spec, resolved.run, resolved.cfg) == "bonus=counts"


# -- the promises of every algorithm, with a bonus -----------------------------------------------

KEPT = [
    ("ppo", "rnd", "dict-observation"),
    ("ppo", "icm", "hybrid-dict"),
    ("a2c", "counts", "lstm-continuous"),
    ("dqn", "counts", "dict-observation"),
    ("dqn", "icm", "multi-discrete"),
    ("drqn", "rnd", "gru"),
    ("sac", "rnd", "continuous"),
]


@pytest.mark.parametrize(("algo", "kind", "name"), KEPT)
def test_conformance_with_a_bonus(algo: str, kind: str, name: str, tmp_path: Path) -> None:
    cases = conformance.cases(algo, {"bonus": kind, "bonus_coef": "linear(0.5, 0.1)"})
    case = next(one for one in cases if one.name == name)
    conformance.check_case(algo, case, tmp_path)


@pytest.mark.parametrize(("algo", "kind"), [("a2c", "icm"), ("dqn", "rnd")])
def test_resumed_in_a_fresh_process_with_a_bonus(algo: str, kind: str, tmp_path: Path) -> None:
    conformance.check_fresh_process(algo, tmp_path, {"bonus": kind})


OWN = """
from dressage.algos import a2c
from dressage.algos.a2c import *
from dressage.algos.actor_critic import ON_POLICY_METRICS_AT_TIMES, POLICY_METRICS, VALUE_METRICS
from dressage.core.algorithm import Needs
from dressage.core.config import NetworkSettings, OptimizerSettings
from dressage.explore.bonus import BonusSettings

class Config(NetworkSettings, OptimizerSettings, BonusSettings):
    n_steps: int = 8
    gamma: float = 0.9
    gae_lambda: float = 1.0
    normalize_advantage: str = "off"
    ent_coef: float = 0.0
    vf_coef: float = 0.5

NEEDS = a2c.NEEDS
"""


def test_an_algorithm_of_ones_own_has_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_with_bonus.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    case = next(
        one for one in conformance.cases("own_with_bonus", {"bonus": "rnd"}) if one.name == "gru"
    )
    conformance.check_case("own_with_bonus", case, tmp_path / "runs")
