"""What steps say of an environment, on systems that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dressage.core.steps import Steps
from dressage.core.summaries import dynamics_metrics
from dressage.envs.spaces import ActionCodec
from dressage.math.dynamics import dynamics

RNG = np.random.default_rng(0)


def oscillator(
    steps: int = 200,
    envs: int = 2,
    delay: int = 0,
    ignored: float = 0.0,
    seen: slice = slice(None),
    stale: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """A mass on a spring that is pushed at random: [T, N, 2], [T, N, 1], [T, N], [T, N]."""
    push = RNG.uniform(-1, 1, (steps, envs))
    x, v = np.zeros((steps, envs)), np.zeros((steps, envs))
    x[0] = RNG.normal(size=envs)
    felt = np.where(RNG.random((steps, envs)) < ignored, RNG.uniform(-1, 1, push.shape), push)
    for t in range(steps - 1):
        force = felt[t - delay] if t >= delay else 0.0
        v[t + 1] = v[t] - 0.3 * x[t] + 0.5 * force
        x[t + 1] = x[t] + 0.3 * v[t + 1]
    obs = np.stack((x, v), axis=-1)[..., seen]
    obs = np.roll(obs, 1, axis=0) if stale else obs
    return obs, push[..., None], -(x**2), np.zeros((steps, envs), bool)


def test_an_action_that_acts_at_once_explains_all_that_the_state_leaves_open() -> None:
    found = dynamics(*oscillator())
    assert found["action_effect"] > 0.99
    assert found["action_effect_late"] < 0.1 and found["history_gain"] < 0.05
    assert found["reward_explained"] > 0.95


@pytest.mark.parametrize("delay", [1, 4, 16])
def test_an_action_that_acts_later_is_found_there(delay: int) -> None:
    found = dynamics(*oscillator(delay=delay))  # of up to 16
    assert found["action_effect"] < 0.1 and found["action_effect_late"] > 0.9


def test_an_observation_of_the_step_before_looks_like_a_late_action() -> None:
    found = dynamics(*oscillator(stale=True))
    assert found["action_effect"] < 0.1 and found["action_effect_late"] > 0.9


def test_actions_that_are_often_ignored_explain_less() -> None:
    found = dynamics(*oscillator(ignored=0.6))
    assert 0.05 < found["action_effect"] < 0.4 and found["action_effect_late"] < 0.1


def test_without_velocities_the_observation_before_tells_more() -> None:
    found = dynamics(*oscillator(seen=slice(0, 1)))
    assert found["history_gain"] > 0.5


def test_rewards_of_noise_are_not_explained() -> None:
    obs, action, reward, ended = oscillator()
    assert dynamics(obs, action, RNG.normal(size=reward.shape), ended)["reward_explained"] < 0.1


def test_neither_the_end_of_an_episode_nor_a_constant_counts() -> None:
    parts = [oscillator(steps=10) for _ in range(40)]
    obs, action, reward, ended = (np.concatenate(x) for x in zip(*parts, strict=True))
    through = dynamics(obs, action, reward, ended)["action_effect"]
    ended[9::10] = True
    assert dynamics(obs, action, reward, ended)["action_effect"] > 0.99 > through
    assert "reward_explained" not in dynamics(obs, action, np.ones_like(reward), ended)


def test_observations_that_are_new_each_time_say_nothing_of_actions() -> None:
    _, action, _, ended = oscillator()
    obs = RNG.normal(size=(200, 2, 3))
    found = dynamics(obs, action, obs[..., 0] * action[..., 0], ended)
    assert set(found) == {"reward_explained"} and found["reward_explained"] > 0.99


def test_a_reward_for_the_right_choice_is_explained_also_where_mistakes_are_rare() -> None:
    kind, chosen = RNG.integers(0, 6, (2, 300, 2))
    chosen = np.where(RNG.random(chosen.shape) < 0.1, chosen, kind)  # a tenth at random
    right = (chosen == kind).astype(float)
    each = np.eye(6)
    found = dynamics(each[kind], each[chosen], right, np.zeros(right.shape, bool))
    assert found["reward_explained"] > 0.9
    by_chance = RNG.permuted(right, axis=0)
    found = dynamics(each[kind], each[chosen], by_chance, np.zeros(right.shape, bool))
    assert found["reward_explained"] < 0.2


def test_too_few_steps_say_nothing() -> None:
    assert dynamics(*oscillator(steps=6)) == {}
    assert dynamics(*oscillator(steps=1)) == {}


def test_choices_count_by_which_they_are_and_images_not_at_all() -> None:
    import gymnasium as gym

    chosen = RNG.integers(0, 3, (100, 2))
    force = np.array([0.7, -1.0, 0.2])[chosen]  # not in the order of the choices
    obs = np.cumsum(force, axis=0)[..., None].astype(np.float32)
    flags = np.zeros((100, 2), bool)
    codec = ActionCodec.from_space(gym.spaces.Discrete(3))
    action = np.roll(chosen, -1, axis=0)[..., None].astype(np.float32)
    steps = Steps(obs, action, force, flags, flags, None, {})
    assert dynamics_metrics(steps, codec)["train/roll/action_effect"] > 0.99
    images = steps._replace(obs=np.zeros((100, 2, 4, 8, 8), np.uint8))
    assert dynamics_metrics(images, codec) == {}


def test_figures_are_those_of_plain_least_squares() -> None:
    obs, action, _, ended = oscillator(ignored=0.5, seen=slice(1, 2))

    def left(y: Any, *columns: Any) -> tuple[float, int]:
        x = np.stack([np.ones(len(y)), *columns], axis=1)
        return float(((y - x @ np.linalg.lstsq(x, y)[0]) ** 2).sum()), x.shape[1]

    def share(known: tuple[float, int], wider: tuple[float, int], rows: int) -> float:
        return 1.0 - wider[0] / known[0] * (rows - known[1]) / (rows - wider[1])

    chosen = np.linspace(0, 198 * 2 - 1, 256).astype(int)
    t, n = (x.ravel()[chosen] for x in np.mgrid[1:199, 0:2])
    x, before, act, change = obs[t, n, 0], obs[t - 1, n, 0], action[t, n, 0], obs[t + 1, n, 0]
    change = change - x
    state = left(change, x, x**2)
    acted, remembered = left(change, x, x**2, act), left(change, x, x**2, act, before)
    found = dynamics(obs, action, RNG.normal(size=ended.shape), ended)
    assert found["action_effect"] == pytest.approx(share(state, acted, 256), abs=1e-6)
    gain = share(acted, remembered, 256) * acted[0] / (256 * change.var())
    assert found["history_gain"] == pytest.approx(gain, abs=1e-6)


@pytest.mark.parametrize("delay", [1, 8, 20])
def test_rewards_that_are_paid_late(delay: int) -> None:
    obs, action, _, ended = oscillator(steps=201)
    reward = 0.2 * obs[..., 0] - 0.1 * obs[..., 1] + 2.0 * action[..., 0]
    assert dynamics(obs, action, reward, ended)["reward_late"] <= 0.05
    late = dynamics(obs, action, np.roll(reward, delay, axis=0), ended)["reward_late"]
    assert 0.3 < late <= 1.0
    noise = RNG.normal(size=reward.shape)
    assert abs(dynamics(obs, action, noise, ended)["reward_late"]) < 0.12


def test_a_late_reward_of_another_episode_does_not_count() -> None:
    parts = [oscillator(steps=10) for _ in range(40)]
    obs, action, _, ended = (np.concatenate(x) for x in zip(*parts, strict=True))
    ended[9::10] = True
    reward = np.roll(action[..., 0], 10, axis=0)  # of the same place in the episode before
    assert dynamics(obs, action, reward, ended)["reward_late"] < 0.1
    assert dynamics(obs, action, reward, np.zeros_like(ended))["reward_late"] > 0.9
