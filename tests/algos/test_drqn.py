"""Recurrent DQN: its loss against one step at a time, burn-in, and the true successors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dressage.algos import drqn, sequences
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.errors import ConfigError
from dressage.nets.q_network import QNetwork

RNG = Rng(0)
BURN_IN, LENGTH, B = 2, 4, 3
STEPS = BURN_IN + LENGTH


def network(cfg: Any, seed: int) -> QNetwork:
    torch.manual_seed(seed)
    action = SimpleNamespace(categories=(3,))
    return QNetwork(SimpleNamespace(obs_shapes=(2,), action=action), cfg)


def batch(carry_size: int) -> Steps:
    """Row 0 has no end, row 1 is ended by the clock twice, row 2 by the task and by the clock."""
    terminated, truncated = np.zeros((STEPS, B), bool), np.zeros((STEPS, B), bool)
    truncated[[1, 3], 1] = truncated[5, 2] = terminated[2, 2] = True
    first = np.zeros((STEPS, B), bool)
    first[1:] = (terminated | truncated)[:-1]
    obs = RNG.normal("obs", (STEPS + 1, B, 2))
    ended = terminated | truncated
    next_obs = np.where(ended[..., None], RNG.normal("last", (STEPS, B, 2)), obs[1:])
    arrays = {
        "first": first,
        "discount": np.float32(0.9) * ~terminated,
        "carry": RNG.normal("carry", (B, carry_size)),
        "weight": np.ones(B, np.float32),
    }
    return Steps(
        torch.from_numpy(obs[:-1].copy()),
        torch.from_numpy(RNG.integers("action", (STEPS, B, 1), 3)).float(),
        torch.from_numpy(RNG.normal("reward", (STEPS, B))),
        torch.from_numpy(terminated),
        torch.from_numpy(truncated),
        torch.from_numpy(next_obs.astype(np.float32)),
        {name: torch.from_numpy(array) for name, array in arrays.items()},
    )


def one_by_one(net: QNetwork, steps: Steps, b: int) -> tuple[list[Any], list[Any]]:
    """Values at each step of row b and at its true successor, one call of the network each."""

    def call(obs: Any, carry: Any) -> tuple[Any, Any]:
        q, after = net.along(obs[None, None], carry[None], torch.zeros(1, 1, dtype=torch.bool))
        return q[0, 0], after[0]

    carry = steps.extras["carry"][b]
    here, there = [], []
    for t in range(STEPS):
        if steps.extras["first"][t, b]:
            carry = torch.zeros_like(carry)
        q, carry = call(steps.obs[t, b], carry)
        here.append(q)
        there.append(call(steps.next_obs[t, b], carry)[0])
    return here, there


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("double", [False, True])
def test_loss_is_that_of_one_step_at_a_time(kind: str, double: bool) -> None:
    cfg = drqn.Config(
        recurrent=kind,
        hidden_size=5,
        net_arch=[4],
        burn_in=BURN_IN,
        sequence_length=LENGTH,
        double=double,
    )
    online, target = network(cfg, 0), network(cfg, 1)
    steps = batch(online.carry_size)
    loss, metrics = drqn.drqn_loss({"q": online, "target": target}, steps, cfg)

    errors = []
    for b in range(B):
        q, after_online = one_by_one(online, steps, b)
        _, after = one_by_one(target, steps, b)
        for t in range(BURN_IN, STEPS):
            chooser = after_online[t] if double else after[t]
            goal = steps.reward[t, b] + steps.extras["discount"][t, b] * after[t][chooser.argmax()]
            errors.append((goal - q[t][int(steps.action[t, b, 0])]).item())
    e = np.abs(errors)
    expected = np.where(e < 1, 0.5 * e**2, e - 0.5).mean()
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert sorted(metrics["priority"].tolist()) == pytest.approx(sorted(e), rel=1e-4)


def test_burn_in_has_no_gradient_and_is_not_learned_from() -> None:
    cfg = drqn.Config(hidden_size=5, net_arch=[], burn_in=BURN_IN, sequence_length=LENGTH)
    online, target = network(cfg, 0), network(cfg, 1)
    steps = batch(online.carry_size)
    steps.obs.requires_grad_(True)
    drqn.drqn_loss({"q": online, "target": target}, steps, cfg)[0].backward()
    moved = steps.obs.grad.abs().sum((1, 2))
    assert (moved[:BURN_IN] == 0).all() and (moved[BURN_IN:] > 0).all()

    before = drqn.drqn_loss({"q": online, "target": target}, steps, cfg)[0]
    steps.reward[:BURN_IN] += 10.0
    assert drqn.drqn_loss({"q": online, "target": target}, steps, cfg)[0].item() == before.item()
    steps.extras["carry"][0] += 1.0  # while the state that they lead to is felt
    assert drqn.drqn_loss({"q": online, "target": target}, steps, cfg)[0].item() != before.item()


def test_successors_are_woven_in() -> None:
    obs = torch.tensor([[1.0], [2.0], [3.0]]).expand(3, 2)
    after = 10.0 * obs
    truncated = torch.tensor([[True, False], [False, False], [False, False]])
    first = torch.tensor([[False, False], [True, False], [False, True]])
    found = sequences.woven(obs, after, truncated, first)
    assert found.obs.T.tolist() == [[1, 10, 2, 3, 30], [1, 2, 3, 30, 0]]
    assert found.place.T.tolist() == [[0, 2, 3], [0, 1, 2]]
    assert found.first.T.tolist() == [
        [False, False, True, False, False],
        [False, False, True, False, False],
    ]


def test_what_it_cannot_do_is_refused() -> None:
    for settings in ({"n_step": 3}, {"prioritized": True}):
        with pytest.raises(ConfigError, match="n_step=1 and prioritized=false"):
            sequences.check(drqn.Config(**settings), 1)
    with pytest.raises(ConfigError, match="buffer_size=96 or more"):
        sequences.check(drqn.Config(buffer_size=50), 4)
