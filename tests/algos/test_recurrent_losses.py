"""Recurrent SAC and TD3 against the same cells stepped one observation at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from dressage.algos import recurrent_sac, recurrent_td3, sac
from dressage.algos.recurrent import parts, remembered
from dressage.core.algorithm import Task
from dressage.core.config import RunConfig
from dressage.core.learner import Learner
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError

RNG = Rng(0)
D, A, B, BURN_IN, LENGTH = 3, 2, 4, 2, 5
SETTINGS: dict[str, Any] = {
    "net_arch": [6],
    "hidden_size": 4,
    "burn_in": BURN_IN,
    "sequence_length": LENGTH,
    "batch_size": B,
}


def learner_of(module: Any, **settings: Any) -> Learner:
    obs = ObsCodec.from_space(spaces.Box(-1, 1, (D,)))
    spec = TaskSpec(obs, ActionCodec.from_space(spaces.Box(-1, 1, (A,))), False)
    cfg = module.Config(**SETTINGS, **settings)
    learner: Learner = module.init(Task(spec, RunConfig(env="none"), RNG), cfg)
    for name in learner.targets:  # so that no two networks are alike
        for parameter in learner.nets[name].parameters():
            parameter.data.mul_(0.7)
    return learner


def sequences(carry_size: int) -> Steps:
    """The clock ends row 1 and the task row 2, each in the middle; then a new episode begins."""
    rows = BURN_IN + LENGTH
    ends = {"truncated": (BURN_IN + 2, 1), "terminated": (BURN_IN + 1, 2)}
    flags = {name: np.zeros((rows, B), bool) for name in (*ends, "first")}
    for name, (row, column) in ends.items():
        flags[name][row, column] = True
        flags["first"][row + 1, column] = True
    obs = RNG.normal("obs", (rows, B, D))
    next_obs = np.concatenate((obs[1:], RNG.normal("last", (1, B, D))))
    for row, column in ends.values():
        next_obs[row, column] = 5.0  # the true successor, which is in no row
    extras = {
        "carry": RNG.normal("carry", (B, carry_size)),
        "first": flags["first"],
        "weight": np.ones(B, np.float32),
        "discount": np.float32(0.9) * ~flags["terminated"],
    }
    arrays = [obs, np.tanh(RNG.normal("action", (rows, B, A))), RNG.normal("reward", (rows, B))]
    plain = Steps(*arrays, flags["terminated"], flags["truncated"], next_obs, extras)
    tensors: Any = (
        {k: torch.from_numpy(v) for k, v in part.items()}
        if isinstance(part, dict)
        else torch.from_numpy(part)
        for part in plain
    )
    return Steps(*tensors)


def stepped(net: Any, batch: Steps, part: slice) -> tuple[torch.Tensor, torch.Tensor]:
    """What a cell remembers of each step after the burn-in, and of its successor: `[L * B, H]`."""

    def step(obs: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        h, c = net.cell.cell(obs[None], (state[:, :4], state[:, 4:]))
        return torch.cat((h, c), dim=-1)

    now, after = torch.zeros(LENGTH, B, 4), torch.zeros(LENGTH, B, 4)
    for column in range(B):
        state = batch.extras["carry"][column : column + 1, part]
        for row in range(BURN_IN + LENGTH):
            if batch.extras["first"][row, column]:
                state = torch.zeros_like(state)
            state = step(batch.obs[row, column], state)
            if row >= BURN_IN:
                now[row - BURN_IN, column] = state[0, :4]
                after[row - BURN_IN, column] = step(batch.next_obs[row, column], state)[0, :4]
    return now.flatten(0, 1), after.flatten(0, 1)


def test_recurrent_td3() -> None:
    cfg = recurrent_td3.Config(**SETTINGS)
    learner = learner_of(recurrent_td3)
    nets, batch = learner.nets, sequences(recurrent_td3.carry_size(learner))
    normal = torch.from_numpy(RNG.normal("smoothing", (LENGTH * B, A)))
    loss, _ = recurrent_td3.critic_loss(nets, batch, normal, cfg)

    of, kept = parts(nets), slice(BURN_IN, None)
    q = nets["critic"].net(
        stepped(nets["critic"], batch, of.critic)[0], batch.action[kept].flatten(0, 1)
    )
    noise = (0.2 * normal).clamp(-0.5, 0.5)
    actor = stepped(nets["actor_target"], batch, of.actor)[1]
    action = (nets["actor_target"].net(actor) + noise).clamp(-1, 1)
    after = nets["target"].net(stepped(nets["target"], batch, of.critic)[1], action).amin(0)
    discount = batch.extras["discount"][kept].flatten()
    target = batch.reward[kept].flatten() + discount * after
    assert loss.item() == pytest.approx((0.5 * (target - q).square()).mean(-1).sum().item())

    loss, _ = recurrent_td3.actor_loss(nets, batch, BURN_IN)
    features = stepped(nets["critic"], batch, of.critic)[0]
    own = nets["actor"].net(stepped(nets["actor"], batch, of.actor)[0])
    assert loss.item() == pytest.approx(-nets["critic"].net(features, own)[0].mean().item())


def test_recurrent_sac() -> None:
    learner = learner_of(recurrent_sac)
    nets, batch = learner.nets, sequences(recurrent_sac.carry_size(learner))
    normal = torch.from_numpy(RNG.normal("draw", (LENGTH * B, A)))
    alpha = torch.tensor(0.2)
    loss, _ = recurrent_sac.critic_loss(nets, batch, normal, alpha, BURN_IN)

    of, kept = parts(nets), slice(BURN_IN, None)
    flat = {"actor": nets["actor"].net}
    action, log_prob = sac.drawn(flat, stepped(nets["actor"], batch, of.actor)[1], normal)
    after = nets["target"].net(stepped(nets["target"], batch, of.critic)[1], action).amin(0)
    discount = batch.extras["discount"][kept].flatten()
    target = batch.reward[kept].flatten() + discount * (after - 0.2 * log_prob)
    q = nets["critic"].net(
        stepped(nets["critic"], batch, of.critic)[0], batch.action[kept].flatten(0, 1)
    )
    assert loss.item() == pytest.approx((0.5 * (target - q).square()).mean(-1).sum().item())


@pytest.mark.parametrize("module", [recurrent_td3, recurrent_sac])
def test_gradients_reach_the_cell_that_learns_and_no_other(module: Any) -> None:
    learner = learner_of(module)
    nets, batch = learner.nets, sequences(module.carry_size(learner))
    normal = torch.from_numpy(RNG.normal("draw", (LENGTH * B, A)))
    if module is recurrent_td3:
        cfg = recurrent_td3.Config(**SETTINGS)
        steps: dict[str, Any] = {
            "critic": (module.critic_loss, normal, cfg),
            "actor": (module.actor_loss, BURN_IN),
        }
    else:
        alpha = torch.tensor(0.2)
        steps = {
            "critic": (module.critic_loss, normal, alpha, BURN_IN),
            "actor": (module.actor_loss, normal, alpha, BURN_IN),
        }
    for learns, other in (("critic", "actor"), ("actor", "critic")):
        for group in learner.groups.values():
            group.gradient.zero_()
        loss, *rest = steps[learns]
        loss(nets, batch, *rest)[0].backward()
        assert nets[learns].cell.cell.weight_hh.grad.abs().max() > 0
        assert learner.groups[other].gradient.abs().max() == 0


def test_acting_brings_both_cells_along() -> None:
    learner = learner_of(recurrent_td3, action_noise="ou")
    size, of = recurrent_td3.carry_size(learner), parts(learner.nets)
    carry, obs = RNG.normal("carry", (B, size)), RNG.normal("now", (B, D))
    with torch.inference_mode():
        features, after = remembered(learner, obs, carry, learns=True)
        first = torch.zeros((1, B), dtype=torch.bool)
        for name, part in (("actor", of.actor), ("critic", of.critic)):
            net, before = learner.nets[name], torch.from_numpy(carry[:, part])
            seen, state = net.along(torch.from_numpy(obs)[None], before, first)
            assert after[:, part] == pytest.approx(state.numpy())
            if name == "actor":
                assert features.numpy() == pytest.approx(seen[0].numpy())
        assert after[:, -A:] == pytest.approx(carry[:, -A:])  # action noise's own
        _, judged = remembered(learner, obs, carry, learns=False)
        assert judged[:, of.critic] == pytest.approx(carry[:, of.critic])


def test_what_sequences_cannot_have() -> None:
    for wrong, word in (({"n_step": 3}, "n_step=1"), ({"buffer_size": 20}, "buffer_size=48")):
        with pytest.raises(ConfigError, match=word):
            recurrent_td3.check(recurrent_td3.Config(**wrong), 2)
