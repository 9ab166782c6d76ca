"""What the on-policy algorithms share: bootstraps at the right places, whole episodes, checks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from pydantic import ValidationError

from dressage.algos import ALGORITHMS, a2c, load_algorithm, ppo, reinforce
from dressage.algos.actor_critic import init, learning_rates, nearest_divisor
from dressage.algos.on_policy import act, next_values, noise
from dressage.core.algorithm import Task
from dressage.core.config import RunConfig
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError
from dressage.runs.metrics import describe

RNG = Rng(0)
T, N = 6, 2


def make(cfg: Any, action: Any = None, scale: bool = True, algo: Any = None) -> Any:
    obs = spaces.Box(-1, 1, (3,))
    spec = TaskSpec(
        ObsCodec.from_space(obs),
        ActionCodec.from_space(action or spaces.Discrete(3), scale),
        False,
    )
    return (algo.init if algo else init)(Task(spec, RunConfig(env="x"), RNG), cfg)


def rollout(learner: Any, cfg: Any) -> Steps:
    """Six steps of two environments: the clock ends row 2 of the first, the task row 3 of the
    second. Successors are unlike the next rows exactly where an episode ended."""
    obs = RNG.normal("obs", (T, N, 3))
    next_obs = np.concatenate((obs[1:], RNG.normal("last", (1, N, 3))))
    terminated, truncated = np.zeros((T, N), bool), np.zeros((T, N), bool)
    truncated[2, 0] = terminated[3, 1] = True
    next_obs[2, 0], next_obs[3, 1] = RNG.normal("end", (2, 3))
    first = np.zeros((T, N), bool)
    first[0] = first[3, 0] = first[4, 1] = True
    size = learner.nets["actor_critic"].carry_size
    carry = np.zeros((N, size), np.float32) if size else None
    rows: dict[str, list[Any]] = {"action": [], "log_prob": [], "value": [], "carry": []}
    for t in range(T):
        if carry is not None:
            carry[first[t]] = 0.0
        rows["carry"].append(None if carry is None else carry.copy())
        acted = act(learner, obs[t], carry, None, noise(RNG, t, N, learner, cfg))
        carry = acted.carry
        rows["action"].append(acted.action)
        for key, value in acted.extras.items():
            rows[key].append(value)
    extras = {key: np.stack(rows[key]) for key in ("log_prob", "value")} | {"first": first}
    if size:
        extras["carry"] = np.stack(rows["carry"])
    reward = RNG.normal("reward", (T, N))
    return Steps(obs, np.stack(rows["action"]), reward, terminated, truncated, next_obs, extras)


def value_of(learner: Any, obs: Any, carry: Any = None) -> float:
    net = learner.nets["actor_critic"]
    x = torch.from_numpy(np.asarray(obs))[None]
    if carry is None:
        return float(net(x).value[0].detach())
    out = net(x[None], None, torch.from_numpy(carry)[None], torch.zeros(1, 1, dtype=torch.bool))
    return float(out.value[0, 0].detach())


def test_next_values_are_those_of_true_successors() -> None:
    cfg = ppo.Config(net_arch=[8])
    learner = make(cfg)
    steps = rollout(learner, cfg)
    found = next_values(learner, steps)
    for t in range(T):
        for n in range(N):
            if steps.terminated[t, n]:
                continue  # never read
            assert found[t, n] == pytest.approx(value_of(learner, steps.next_obs[t, n]), abs=1e-5)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_next_values_of_recurrent_networks_have_the_carry_after_the_step(kind: str) -> None:
    cfg = ppo.Config(net_arch=[8], recurrent=kind, hidden_size=4)
    learner = make(cfg)
    steps = rollout(learner, cfg)
    found = next_values(learner, steps)
    carry = steps.extras["carry"]
    for t, n in ((2, 0), (T - 1, 0), (T - 1, 1)):  # the clock, and the cut of the rollout
        after = act(learner, steps.obs[t, n][None], carry[t, n][None], None, None).carry
        assert after is not None
        expected = value_of(learner, steps.next_obs[t, n], after[0])
        assert found[t, n] == pytest.approx(expected, abs=1e-5)


def test_a_sequence_is_replayed_as_it_was_collected() -> None:
    """The first importance ratio is 1: the loss sees what acting saw, forgotten carry included."""
    cfg = ppo.Config(net_arch=[8], recurrent="lstm", hidden_size=4)
    learner = make(cfg)
    steps, _ = ppo.prepare(learner, rollout(learner, cfg), cfg)
    _, metrics = ppo.ppo_loss(learner.nets, learner.tensors(steps), cfg)
    assert float(metrics["train/metrics/ratio_max"]) == pytest.approx(1.0, abs=1e-6)


def test_a_rollout_collected_feeds_a_ratio_of_one() -> None:
    for action in (spaces.Discrete(3), spaces.Box(-1, 1, (2,))):
        for settings in ({}, {"squash": True}, {"use_sde": True, "squash": True}):
            if settings and isinstance(action, spaces.Discrete):
                continue
            cfg = ppo.Config(net_arch=[8], **settings)
            learner = make(cfg, action)
            steps, _ = ppo.prepare(learner, rollout(learner, cfg), cfg)
            _, metrics = ppo.ppo_loss(learner.nets, learner.tensors(steps), cfg)
            assert float(metrics["train/metrics/ratio_max"]) == pytest.approx(1.0, abs=2e-5)


def test_reinforce_with_a_baseline_is_monte_carlo_with_a_bootstrap_at_the_cut() -> None:
    cfg = reinforce.Config(net_arch=[8], normalize_advantage="off", gamma=0.9)
    learner = make(cfg, algo=reinforce)
    steps, metrics = reinforce.prepare(learner, rollout(learner, cfg), cfg)
    r, after = steps.reward, next_values(learner, steps)
    x = steps.extras
    assert x["returns"][2, 0] == pytest.approx(r[2, 0] + 0.9 * after[2, 0])  # the clock
    assert x["returns"][3, 1] == pytest.approx(r[3, 1])  # the task
    assert x["returns"][5, 0] == pytest.approx(r[5, 0] + 0.9 * after[5, 0])  # the cut
    assert x["returns"][1, 0] == pytest.approx(r[1, 0] + 0.9 * x["returns"][2, 0])
    assert np.allclose(x["advantage"], x["returns"] - x["value"])
    assert (x["weight"] == 1.0).all()
    assert metrics["train/roll/counted_share"] == 1.0


def test_reinforce_without_a_baseline_counts_finished_episodes_alone() -> None:
    cfg = reinforce.Config(net_arch=[8], normalize_advantage="off", gamma=0.9, baseline=False)
    learner = make(cfg, algo=reinforce)
    steps, metrics = reinforce.prepare(learner, rollout(learner, cfg), cfg)
    x, r = steps.extras, steps.reward
    counted = x["weight"] > 0
    assert counted[:, 0].tolist() == [True] * 3 + [False] * 3
    assert counted[:, 1].tolist() == [True] * 4 + [False] * 2
    assert x["weight"].mean() == pytest.approx(1.0)
    assert x["advantage"][0, 0] == pytest.approx(r[0, 0] + 0.9 * r[1, 0] + 0.81 * r[2, 0])
    assert metrics["train/roll/counted_share"] == pytest.approx(7 / 12)
    names = set(metrics) | set(step_metrics(learner, steps, cfg))
    assert not {name for name in names if "value" in name}
    # nothing unfinished reaches the gradient
    changed = steps._replace(extras=x | {"advantage": np.where(counted, x["advantage"], 1e3)})
    for name, value in step_metrics(learner, changed, cfg).items():
        assert value == step_metrics(learner, steps, cfg)[name], name


def step_metrics(learner: Any, steps: Steps, cfg: Any) -> dict[str, float]:
    _, metrics = reinforce.reinforce_loss(learner.nets, learner.tensors(steps), cfg)
    return {name: float(value) for name, value in metrics.items()}


def test_reinforce_without_any_finished_episode_learns_nothing_and_stays_finite() -> None:
    cfg = reinforce.Config(net_arch=[8], baseline=False)
    learner = make(cfg, algo=reinforce)
    steps = rollout(learner, cfg)
    none = np.zeros((T, N), bool)
    steps, metrics = reinforce.prepare(
        learner, steps._replace(terminated=none, truncated=none), cfg
    )
    assert metrics == {"train/roll/counted_share": 0.0}
    before = learner.groups["policy"].flat.clone()
    memory = reinforce.memory(cfg)
    memory.add(steps)
    updated = reinforce.update(learner, memory, RNG, cfg)
    assert updated["train/metrics/grad_norm/total"] == 0.0
    assert torch.equal(learner.groups["policy"].flat, before)


def test_policy_and_baseline_of_reinforce_learn_apart() -> None:
    assert set(make(reinforce.Config(baseline=False), algo=reinforce).groups) == {"policy"}
    cfg = reinforce.Config(net_arch=[8], share_features=True, learning_rate=1e-3, baseline_steps=60)
    learner = make(cfg, algo=reinforce)
    assert set(learner.groups["policy"].modules) == {"policy", "shared"}
    assert set(learner.groups["value"].modules) == {"value"}
    steps, _ = reinforce.prepare(learner, rollout(learner, cfg), cfg)
    batch = learner.tensors(steps)
    memory = reinforce.memory(cfg)
    memory.add(steps)
    learner.inspect_next = True
    metrics = reinforce.update(learner, memory, RNG, cfg)
    with torch.no_grad():
        after = reinforce.baseline_loss(learner.nets, batch)[0]
        loss = reinforce.reinforce_loss(learner.nets, batch, cfg)[0]
    assert float(loss) < metrics["train/loss/policy"]
    assert float(after) < metrics["train/loss/value"]
    assert {"train/metrics/weight_norm/value", "train/metrics/weight_norm/shared"} <= set(metrics)
    one_step = make(cfg.model_copy(update={"baseline": False}), algo=reinforce)
    memory.add(steps)
    reinforce.update(one_step, memory, RNG, cfg.model_copy(update={"baseline": False}))
    # the baseline's steps did not touch what the policy acts with
    assert torch.equal(one_step.groups["policy"].flat, learner.groups["policy"].flat)


def test_the_value_network_may_have_a_rate_of_its_own() -> None:
    cfg = a2c.Config(learning_rate=1e-3, value_learning_rate=5e-3)
    assert learning_rates(make(cfg), cfg) == {"policy": 1e-3, "value": 5e-3}
    same = a2c.Config(learning_rate=1e-3)
    assert learning_rates(make(same), same) == {"policy": 1e-3, "value": 1e-3}


def test_acting_depends_on_the_index_alone_and_the_mode_on_nothing() -> None:
    cfg = ppo.Config(net_arch=[8])
    learner = make(cfg)
    obs = RNG.normal("o", (50, 3))
    one = act(learner, obs, None, None, noise(RNG, 3, 50, learner, cfg))
    two = act(learner, obs, None, None, noise(RNG, 3, 50, learner, cfg))
    other = act(learner, obs, None, None, noise(RNG, 4, 50, learner, cfg))
    assert np.array_equal(one.action, two.action)
    assert not np.array_equal(one.action, other.action)
    few = act(learner, obs[:2], None, None, noise(RNG, 3, 2, learner, cfg))
    assert np.array_equal(few.action, one.action[:2])  # as many more environments as you like
    assert act(learner, obs, None, None, None).extras == {}


@pytest.mark.parametrize(("algo", "on"), [(ppo, "minibatch"), (a2c, "batch"), (reinforce, "batch")])
def test_normalize_advantage_takes_the_switch_that_sb3_has(algo: Any, on: str) -> None:
    assert algo.Config(normalize_advantage=True).normalize_advantage == on
    assert algo.Config(normalize_advantage=False).normalize_advantage == "off"
    for other in ("true", 1, "minibatchs"):
        with pytest.raises(ValidationError):
            algo.Config(normalize_advantage=other)


def test_a_batch_that_does_not_divide_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"batch_size=64 does not divide.*batch_size=60"):
        ppo.check(ppo.Config(n_steps=60, batch_size=64), 4)
    with pytest.raises(ConfigError, match=r"sequence_length=16 must divide.*sequence_length=15"):
        ppo.check(ppo.Config(n_steps=60, batch_size=60, recurrent="gru"), 4)
    ppo.check(ppo.Config(n_steps=64, batch_size=64, recurrent="gru"), 4)
    assert nearest_divisor(100, 64) == 50
    with pytest.raises(ConfigError, match=r"batch_size=2 does not divide.*batch_size=7"):
        ppo.check(ppo.Config(n_steps=7, batch_size=2), 1)  # 1 divides, but is no batch
    with pytest.raises(ConfigError, match="n_steps=2"):
        ppo.check(ppo.Config(n_steps=1, batch_size=2), 1)
    with pytest.raises(ConfigError, match="at least 2 steps"):
        a2c.check(a2c.Config(n_steps=1, normalize_advantage="batch"), 1)


@pytest.mark.parametrize(
    ("settings", "action", "scale", "words"),
    [
        ({"squash": True}, spaces.Discrete(2), True, "continuous"),
        ({"squash": True}, spaces.Box(-np.inf, np.inf, (1,)), True, "bounded"),
        ({"squash": True}, spaces.Box(-2, 2, (1,)), False, "scale_actions"),
        ({"use_sde": True}, spaces.Discrete(2), True, "continuous"),
    ],
)
def test_settings_that_the_actions_do_not_allow(
    settings: dict[str, Any], action: Any, scale: bool, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        make(ppo.Config(**settings), action, scale)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_declared_metrics_are_in_the_dictionary(name: str) -> None:
    needs = load_algorithm(name).NEEDS
    for metric in {*needs.metrics, *needs.metrics_at_times}:
        assert describe(metric).meaning


def test_an_unknown_algorithm_and_a_module_that_is_none() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'a2c'"):
        load_algorithm("a2")
    with pytest.raises(ConfigError, match="lacks Config"):
        load_algorithm("json.decoder")


@pytest.mark.parametrize("algo", [ppo, a2c, reinforce])
def test_an_update_follows_the_schedules_of_its_optimizer(algo: Any) -> None:
    """SGD at rate 1 moves the weights by the clipped gradient."""
    settings: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 1.0, "net_arch": [8]}
    if algo is ppo:
        settings |= {"n_steps": T, "batch_size": T * N, "n_epochs": 1}
    cfg = algo.Config(**settings, max_grad_norm="linear(1e-2, 1e-4)")
    learner = make(cfg, algo=algo)
    steps, _ = algo.prepare(learner, rollout(learner, cfg), cfg)
    group = learner.groups["policy" if algo is reinforce else "all"]
    for progress, norm in ((0.0, 1e-2), (1.0, 1e-4)):
        before = group.flat.clone()
        memory = algo.memory(cfg)
        memory.add(steps)
        algo.update(learner, memory, RNG, cfg.at(progress))
        assert float((group.flat - before).norm()) == pytest.approx(norm, rel=2e-2)
        assert {each.max_grad_norm for each in learner.groups.values()} == {norm}


def test_target_kl_ends_an_update_early() -> None:
    cfg = ppo.Config(
        net_arch=[8], n_steps=T, batch_size=4, n_epochs=10, target_kl=1e-6, learning_rate=0.1
    )
    learner = make(cfg)
    steps, _ = ppo.prepare(learner, rollout(learner, cfg), cfg)
    memory = ppo.memory(cfg)
    memory.add(steps)
    assert ppo.update(learner, memory, RNG, cfg)["train/metrics/epochs_done"] < 2
    later = ppo.Config(**cfg.model_dump() | {"target_kl": "linear(1e-6, 1e6)"})
    for progress, fewer in ((0.0, True), (1.0, False)):
        memory.add(steps)
        done = ppo.update(learner, memory, RNG, later.at(progress))["train/metrics/epochs_done"]
        assert (done < 10) is fewer
    free = SimpleNamespace(cfg=cfg.model_copy(update={"target_kl": None}))
    memory = ppo.memory(free.cfg)
    memory.add(steps)
    assert ppo.update(learner, memory, RNG, free.cfg)["train/metrics/epochs_done"] == 10
