"""What a saved model tells beside the log: against networks whose training is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.logger import configure

from dressage.diagnosis.registry import all_rules
from dressage.diagnosis.saved_model import numbers
from dressage.diagnosis.saved_network import Layer, answers, chain
from dressage.runs.readers import read
from dressage.runs.view import Episodes, RunView
from dressage.runs.weights import Moments, Weights, read_weights


def trained(inputs: torch.Tensor, steps: int = 300) -> dict[str, float]:
    """The numbers of a value network fitted to noise, as DQN would save it."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(inputs.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(steps):
        rows = torch.randint(len(inputs), (32,))
        optimizer.zero_grad()
        (net(inputs[rows]) - torch.randn(32, 2)).square().mean().backward()
        optimizer.step()
    tensors = {f"q_net.q_net.{name}": p.detach().numpy() for name, p in net.named_parameters()}
    tensors |= {name.replace("q_net.q", "q_net_target.q", 1): t for name, t in tensors.items()}
    moments = [
        Moments(
            f"policy/{i}",
            float(steps),
            state["exp_avg"].numpy().ravel(),
            state["exp_avg_sq"].numpy().ravel(),
        )
        for i, state in enumerate(optimizer.state_dict()["state"].values())
    ]
    return numbers(Weights(Path("model.zip"), tensors, moments))


def test_moments_of_the_first_layer_tell_the_size_of_observations() -> None:
    generator = torch.Generator().manual_seed(0)
    scales = torch.tensor([0.1, 1.0, 40.0])
    found = trained(torch.randn(4096, 3, generator=generator) * scales)
    assert found["critic/input_largest"] == pytest.approx(40.0, rel=0.4)
    assert found["critic/input_smallest"] == pytest.approx(0.1, rel=0.4)
    assert found["critic/input_same"] == 0.0
    assert found["critic/behind"] == 0.0


def test_observations_that_never_change_are_told() -> None:
    found = trained(torch.tensor([[0.3, -2.0, 1.0]]).repeat(64, 1))
    assert found["critic/input_same"] == 1.0
    assert found["critic/input_largest"] == pytest.approx(2.0, rel=0.05)
    half = torch.stack([torch.randn(512), torch.full((512,), 0.7)], 1)
    assert trained(half)["critic/input_same"] == 0.5


def test_what_a_file_lacks_has_no_number() -> None:
    assert numbers(Weights(Path("model.zip"), {})) == {}
    bare = {"q_net.q_net.0.weight": np.ones((4, 2)), "q_net.q_net.0.bias": np.zeros(4)}
    found = numbers(Weights(Path("model.zip"), bare))
    assert "critic/gradient" not in found and "critic/output_grown" in found


def test_odd_files_break_nothing() -> None:
    generator = np.random.default_rng(0)
    for odd in (np.nan, np.inf, -1.0, 0.0, 1e300):
        weight, bias = generator.normal(size=(6, 3)), generator.normal(size=6)
        tensors = {"q_net.q_net.0.weight": weight, "q_net.q_net.0.bias": bias}
        tensors |= {"q_net_target.q_net.0.weight": weight[:2], "q_net_target.other": bias * odd}
        tensors |= {"actor.mu.0.weight": weight * odd, "actor.mu.0.bias": bias}
        tensors |= {"critic.qf0.0.weight": np.zeros((0, 3)), "critic.qf0.0.bias": np.zeros(0)}
        moments = [
            Moments("policy/0", odd, np.full(18, odd), np.full(18, odd)),
            Moments("policy/1", -odd, np.full(6, odd), np.full(6, odd)),
            Moments("policy/2", 3.0, np.full(5, odd), None),
            Moments("policy/99", 3.0, None, np.full(5, odd)),
            Moments("strange", 3.0, None, None),
        ]
        found = numbers(Weights(Path("model.zip"), tensors, moments))
        assert all(np.isfinite(value) for value in found.values())


class Blind(gym.ObservationWrapper):  # type: ignore[misc]
    def observation(self, observation: Any) -> Any:
        return np.full_like(observation, 0.5)


@pytest.mark.parametrize(
    ("kind", "settings", "wrap", "fires"),
    [
        (sb3.PPO, {"learning_rate": 1e-7, "n_steps": 128}, None, {"CKP007"}),
        (sb3.PPO, {"learning_rate": 1e-3, "n_steps": 128}, Blind, {"CKP009"}),
        (sb3.DQN, {"target_update_interval": 10**6, "train_freq": 1}, None, {"CKP008"}),
        (sb3.DQN, {"target_update_interval": 100, "train_freq": 1}, None, set()),
    ],
)
def test_rules_on_models_that_sb3_saved(
    kind: Any, settings: dict[str, Any], wrap: Any, fires: set[str], tmp_path: Path
) -> None:
    env = gym.make("CartPole-v1")
    if kind is sb3.DQN:
        settings |= {"learning_starts": 50, "learning_rate": 1e-2}
    model = kind("MlpPolicy", wrap(env) if wrap else env, seed=0, device="cpu", **settings)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(1_024)
    model.save(tmp_path / "model.zip")
    (view,) = read(tmp_path)
    rules = [rule for id, rule in all_rules().items() if "CKP007" <= id <= "CKP022"]
    found = {rule.id: rule.look(view)[1] for rule in rules if rule.look(view)[1] is not None}
    assert fires <= set(found)
    if not fires:
        assert not found


def layer(name: str, weight: Any, bias: Any) -> Layer:
    return Layer(name, np.asarray(weight, float), np.asarray(bias, float), None, None)


def test_a_critic_of_choices_is_asked_for_the_best_one() -> None:
    seen = np.array([2.0, 0.0])
    critic = [
        layer("q_net.q_net.0", [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [0.0, 0.0, -1.0]),
        layer("q_net.q_net.2", [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [5.0, -9.0]),
    ]  # the first choice is worth 5 + |x|, the other -9; the third unit is never awake
    found = answers([], critic, np.empty(0), seen)
    expected = 5.0 + 2.0 * np.sqrt(2.0 / np.pi)
    assert found["critic/value"] == pytest.approx(expected, rel=0.05)
    assert found["critic/one_choice"] == 1.0
    assert found["critic/idle"] == pytest.approx(1 / 3)


def test_a_critic_that_takes_actions_is_asked_about_those_of_the_actor() -> None:
    actor = [layer("actor.mu.0", [[0.0, 0.0]], [10.0])]  # always at its bound
    critic = [layer("critic.qf0.0", [[0.0, 0.0, 3.0]], [1.0])]
    found = answers(actor, critic, np.ones(2), np.ones(3))
    assert found["critic/value"] == pytest.approx(4.0)
    assert found["actor/saturated"] == 1.0


def test_a_chain_ends_where_another_head_begins() -> None:
    trunk = [layer("actor.latent_pi.0", np.ones((4, 3)), np.ones(4))]
    heads = [
        layer("actor.mu", np.ones((2, 4)), np.ones(2)),
        layer("actor.log_std", np.ones((2, 4)), np.ones(2)),
    ]
    assert [one.name for one in chain(trunk + heads)] == ["actor.latent_pi.0", "actor.mu"]
    assert chain([]) == []


@pytest.mark.parametrize("rate", [3e-4, 0.3])
def test_values_of_a_model_are_those_of_its_task(rate: float, tmp_path: Path) -> None:
    model = sb3.PPO("MlpPolicy", "CartPole-v1", gamma=0.9, learning_rate=rate, seed=0, device="cpu")
    model.learn(6144)
    model.save(tmp_path / "model.zip")
    found = numbers(read_weights(tmp_path / "model.zip"))
    if rate < 0.1:  # a reward of 1 a step, for ever: 10
        assert found["critic/value"] == pytest.approx(8.0, abs=3.0)
        assert found["critic/grown"] < 0.9 and found["critic/idle"] < 0.2
    else:
        assert max(found["critic/grown"], found["actor/grown"]) > 1.2


@pytest.mark.parametrize(
    ("rule", "algo", "shows", "healthy"),
    [
        ("CKP011", "dqn", {"critic/grown": 1.5}, {"critic/grown": 0.6}),
        ("CKP011", "sac", {"critic/grown": 0.5, "actor/grown": 1.4}, {"critic/grown": 0.5}),
        ("CKP012", "dqn", {"critic/idle": 0.7}, {"critic/idle": 0.1}),
        (
            "CKP013",
            "ppo",
            {"critic/grown": 0.001, "critic/output_grown": -0.01},
            {"critic/grown": 0.001, "critic/output_grown": 0.8},
        ),
        ("CKP014", "ppo", {"critic/grown": -2.0}, {"critic/grown": -0.01}),
        ("CKP015", "ppo", {"critic/gradient": 0.0}, {"critic/gradient": 0.3}),
        ("CKP016", "ppo", {"actor/output_grown": 3.0}, {"actor/output_grown": 4.2}),
        ("CKP018", "dqn", {"critic/value": 2.0}, {"critic/value": 30.0}),
        ("CKP019", "dqn", {"critic/value": 1e5}, {"critic/value": 30.0}),
        ("CKP020", "sac", {"critic/value": -30.0}, {"critic/value": 30.0}),
        (
            "CKP021",
            "ppo",
            {"actor/gradient": 1e-6, "critic/gradient": 0.5},
            {"actor/gradient": 0.1, "critic/gradient": 0.5},
        ),
        ("CKP022", "sac", {"critic/value": -5e4}, {"critic/value": -60.0}),
    ],
)
def test_rules_on_the_numbers_of_a_model(
    rule: str, algo: str, shows: dict[str, float], healthy: dict[str, float]
) -> None:
    """Of a run whose episodes of 100 steps return 100."""
    count = 40
    episodes = Episodes(
        100.0 * np.arange(1, count + 1), np.full(count, 100.0), np.full(count, 100.0)
    )
    run = RunView(Path("run"), "run", "sb3", algo=algo, episodes=episodes)
    for numbers_of, fires in ((shows, True), (healthy, False)):
        could, found = all_rules()[rule].look(replace(run, saved=numbers_of))
        assert could and (found is not None) == fires
        if found is not None:
            assert any(character.isdigit() for character in found.says)
    assert all_rules()[rule].look(run) == (False, None)  # without a model


@pytest.mark.parametrize("rule", ["CKP018", "CKP019", "CKP020"])
def test_values_are_not_judged_without_returns_to_hold_them_against(rule: str) -> None:
    run = RunView(Path("run"), "run", "sb3", algo="dqn", saved={"critic/value": -1e4})
    assert all_rules()[rule].look(run) == (False, None)
    mixed = Episodes(np.arange(1.0, 5.0), np.array([-1.0, 2.0, -1.0, 2.0]), np.full(4, 9.0))
    if rule == "CKP020":
        assert all_rules()[rule].look(replace(run, episodes=mixed)) == (False, None)
