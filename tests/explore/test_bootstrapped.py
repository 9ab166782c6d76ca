"""Heads that disagree: what each learns, how they act, and that an episode keeps its head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from dressage.algos import bootstrapped_dqn as algo
from dressage.core.algorithm import Task
from dressage.core.config import RunConfig
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps
from dressage.envs.spaces import ActionCodec, ObsCodec

RNG, B, HEADS = Rng(4), 6, 3
CHOICES = (2, 3)


def learner(**given: Any) -> tuple[Any, algo.Config]:
    cfg = algo.Config(heads=HEADS, net_arch=[8], learning_starts=0, **given)
    observation = ObsCodec.from_space(spaces.Box(-1, 1, (4,), np.float32))
    action = ActionCodec.from_space(spaces.MultiDiscrete(CHOICES))
    task = Task(TaskSpec(observation, action, True), RunConfig(env="none"), RNG)
    made = algo.init(task, cfg)
    with torch.no_grad():
        made.nets["target"].advantage.weight.add_(0.3)  # so that it is not the network
    return made, cfg


def batch() -> Steps:
    draw = np.random.default_rng(0)
    obs, after = draw.normal(size=(2, B, 4)).astype(np.float32)
    action = np.stack([draw.integers(0, n, B) for n in CHOICES], -1).astype(np.float32)
    reward, weight = draw.normal(size=(2, B)).astype(np.float32)
    mask = np.ones((B, sum(CHOICES)), bool)
    mask[2, 0] = mask[3, 4] = False
    discount = np.where(np.arange(B) == 1, 0, 0.9).astype(np.float32)
    ends = np.zeros(B, bool)
    extras = {"next_mask": mask, "discount": discount, "weight": np.abs(weight)}
    return Steps(obs, action, reward, ends, ends, after, extras)


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_the_loss_against_a_loop(double: bool, prior: float) -> None:
    made, cfg = learner(double=double, prior_scale=prior)
    given = batch()
    x = made.tensors(given)

    def values(name: str, obs: Any) -> Any:
        with torch.no_grad():
            q = made.nets[name](obs)
            return (q + prior * made.nets["prior"](obs) if prior else q).numpy()

    q, slow, fast = values("q", x.obs), values("target", x.next_obs), values("q", x.next_obs)
    total = 0.0
    for i in range(B):
        for head in range(HEADS):
            following, start = [], 0
            for n in CHOICES:
                allowed = given.extras["next_mask"][i, start : start + n]
                chooser = (fast if double else slow)[i, start : start + n, head]
                best = int(np.where(allowed, chooser, -np.inf).argmax())
                following.append(slow[i, start + best, head])
                start += n
            target = given.reward[i] + given.extras["discount"][i] * np.mean(following)
            for part, offset in enumerate((0, CHOICES[0])):
                error = abs(target - q[i, offset + int(given.action[i, part]), head])
                huber = 0.5 * error**2 if error < 1 else error - 0.5
                total += given.extras["weight"][i] * huber / (B * HEADS * len(CHOICES))
    loss, _ = algo.heads_loss(made.nets, x, cfg)
    assert loss.item() == pytest.approx(float(total), rel=1e-5)


def test_the_prior_does_not_learn() -> None:
    made, cfg = learner(weight_decay=0.1)
    before = {name: x.clone() for name, x in made.nets["prior"].state_dict().items()}
    for _ in range(3):
        made.step("all", algo.heads_loss, made.tensors(batch()), cfg)
    for name, x in made.nets["prior"].state_dict().items():
        assert torch.equal(x, before[name])


def test_the_upper_bound_of_the_heads() -> None:
    made, cfg = learner(explore="ucb", ucb_coef=1.5)
    obs = batch().obs
    assert algo.carry_size(made) == 0
    q = algo.heads_of(made.nets, "q", torch.from_numpy(obs)).detach().numpy()
    for noise, values in (
        (algo.noise(RNG, 5, B, made, cfg), q.mean(-1) + 1.5 * q.std(-1)),
        (None, q.mean(-1)),
    ):
        acted = algo.act(made, obs, None, None, noise)
        expected = np.stack([values[:, :2].argmax(1), values[:, 2:].argmax(1)], -1)
        assert np.array_equal(acted.action, expected)


def test_an_episode_keeps_its_head() -> None:
    made, cfg = learner(explore="episode")
    assert algo.carry_size(made) == 1
    obs, carry = batch().obs, np.zeros((B, 1), np.float32)
    q = algo.heads_of(made.nets, "q", torch.from_numpy(obs)).detach().numpy()
    drawn = algo.noise(RNG, 0, B, made, cfg).head
    assert len(set(drawn)) > 1
    for index in range(4):
        acted = algo.act(made, obs, carry, None, algo.noise(RNG, index, B, made, cfg))
        of_head = q[np.arange(B), :, drawn]
        expected = np.stack([of_head[:, :2].argmax(1), of_head[:, 2:].argmax(1)], -1)
        assert np.array_equal(acted.action, expected)
        carry = acted.carry
        assert carry is not None and np.array_equal(carry[:, 0], drawn + 1)
    carry[2] = 0.0  # an episode begins
    later = algo.noise(RNG, 9, B, made, cfg)
    acted = algo.act(made, obs, carry, None, later)
    assert acted.carry is not None and acted.carry[2, 0] == later.head[2] + 1
