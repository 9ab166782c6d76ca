"""Tables: their updates by hand, their states, and what they refuse."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from dressage.algos import q_learning, sarsa, tabular, ucb
from dressage.core.collector import Collector
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps
from dressage.envs.backends import open_batch
from dressage.envs.make import EnvRecipe
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError


def spec(obs: Any, action: Any = None) -> TaskSpec:
    action = action or spaces.Discrete(2)
    return TaskSpec(ObsCodec.from_space(obs), ActionCodec.from_space(action), masked=False)


def table(states: int = 3) -> tabular.Table:
    made = tabular.Table(spec(spaces.Discrete(states)), 0.0)
    made.q[:] = np.arange(made.q.size).reshape(made.q.shape)
    return made


def memory(state: int, action: int, reward: float, after: int, terminated: bool) -> Any:
    one_hot = np.eye(3, dtype=np.float32)
    step = Steps(
        one_hot[[state]],
        np.array([[action]], np.float32),
        np.array([reward], np.float32),
        np.array([terminated]),
        np.array([False]),
        one_hot[[after]],
        {},
    )
    return SimpleNamespace(step=step, collector=SimpleNamespace(vector_steps=5, n_envs=1))


@pytest.mark.parametrize(("terminated", "target"), [(False, 1.0 + 0.9 * 5.0), (True, 1.0)])
def test_q_learning_by_hand(terminated: bool, target: float) -> None:
    made = table()
    cfg = q_learning.Config(learning_rate=0.25, gamma=0.9)
    [metrics] = q_learning.update(made, memory(1, 0, 1.0, 2, terminated), Rng(0), cfg)
    assert made.q[1, 0] == pytest.approx(2.0 + 0.25 * (target - 2.0))
    assert metrics["train/metrics/td_error_mean"] == pytest.approx(abs(target - 2.0))
    assert made.updates == 1 and made.visits.sum() == made.visits[1, 0] == 1


def test_sarsa_learns_from_the_action_that_comes_next() -> None:
    """Random actions: the entry that it bootstraps from is that of the next step's draw."""
    cfg = sarsa.Config(learning_rate=1.0, gamma=1.0, epsilon=1.0)
    seen = set()
    for seed in range(8):
        made = table()
        sarsa.update(made, memory(1, 0, 0.0, 2, False), Rng(seed), cfg)
        noise = sarsa.noise(Rng(seed), 5, 1, made, cfg)
        following = int(sarsa.act(made, np.eye(3)[[2]], None, None, noise).action[0, 0])
        assert made.q[1, 0] == made.q[2, following]
        seen.add(following)
    assert seen == {0, 1}  # not the best one alone


def test_means_and_bonus_of_ucb1() -> None:
    made = tabular.Table(spec(spaces.Discrete(3), spaces.Discrete(3)), 0.0)
    cfg, taken = ucb.Config(), []
    for reward in (0.0, 1.0, 1.0, 0.0, 1.0):
        noise = ucb.noise(Rng(0), 0, 1, made, cfg)
        taken.append(int(ucb.act(made, np.eye(3)[[0]], None, None, noise).action[0, 0]))
        ucb.update(made, memory(0, taken[-1], reward, 0, False), Rng(0), cfg)
    assert taken[:3] == [0, 1, 2]  # each once
    mean, n = [0.0, 1.0, 1.0], [1, 1, 1]
    for i, reward in ((3, 0.0), (4, 1.0)):
        score = [m + np.sqrt(2 * np.log(sum(n)) / k) for m, k in zip(mean, n, strict=True)]
        arm = int(np.argmax(score))
        assert taken[i] == arm
        mean[arm] = (mean[arm] * n[arm] + reward) / (n[arm] + 1)
        n[arm] += 1
    np.testing.assert_allclose(made.q[0], mean)
    greedy = ucb.act(made, np.eye(3)[[0]], None, None, None).action
    assert int(greedy[0, 0]) == int(np.argmax(mean))


def test_states_of_several_observations() -> None:
    """Blackjack's three numbers are one state."""
    space = spaces.Tuple((spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)))
    made = tabular.Table(spec(space), 0.0)
    assert made.q.shape == (32 * 11 * 2, 2)
    encoded = np.stack([made_obs(space, obs) for obs in ((0, 0, 1), (5, 3, 0), (31, 10, 1))])
    assert made.states(encoded).tolist() == [1, (5 * 11 + 3) * 2, 32 * 11 * 2 - 1]


def made_obs(space: Any, obs: Any) -> Any:
    return ObsCodec.from_space(space).encode(obs)


def test_masks_are_kept_when_looking_ahead() -> None:
    made, given = table(), memory(1, 0, 0.0, 2, False)
    given.step.extras["next_mask"] = np.array([[True, False]])
    q_learning.update(made, given, Rng(0), q_learning.Config(learning_rate=1.0, gamma=1.0))
    assert made.q[1, 0] == made.q[2, 0] == 4.0  # not 5, which is illegal


def test_the_step_just_made_is_learned_from() -> None:
    """With a real collector: rewards scaled, true successors, masks of Taxi."""
    with open_batch(EnvRecipe("Taxi-v4"), 2) as batch:
        collector = Collector(batch, Rng(0))
        collector.start()
        kept = tabular.LastStep()
        kept.attach(collector, None)
        made = tabular.Table(TaskSpec(batch.obs_codec, batch.action_codec, True), 0.0)
        cfg = q_learning.Config(epsilon=0.5)

        def act(obs: Any, carry: Any, mask: Any, index: int) -> Any:
            return tabular.act(made, obs, carry, mask, tabular.noise(Rng(0), index, 2, made, cfg))

        for _ in range(3):
            kept.add(collector.collect(act, 1))
        assert kept.step.obs.shape == (2, 500) and kept.newest(3).reward.shape == (3, 2)
        assert kept.step.extras["next_mask"].shape == (2, 6)


def test_what_no_table_can_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs Discrete observations, and this task has box"):
        tabular.Table(spec(gym.make("CartPole-v1").observation_space), 0.0)
    with pytest.raises(ConfigError, match="use algo=dqn"):
        tabular.Table(spec(spaces.MultiDiscrete([100] * 5)), 0.0)
    run = SimpleNamespace(normalize_obs=True)
    with pytest.raises(ConfigError, match="normalize_obs=false"):
        tabular.init(SimpleNamespace(run=run, spec=None), q_learning.Config())  # type: ignore[arg-type]
