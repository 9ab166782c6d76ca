"""Networks: recurrent resets, shared trunks, images, state-dependent exploration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from dressage.core.config import NetworkSettings
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError
from dressage.nets.actor_critic import ActorCritic
from dressage.nets.encoder import make_encoder
from dressage.nets.initialise import build
from dressage.nets.recurrent import Recurrent


def make(obs: Any = None, action: Any = None, **settings: Any) -> ActorCritic:
    obs = obs or spaces.Box(-1, 1, (3,))
    action = action or spaces.Discrete(4)
    spec = TaskSpec(ObsCodec.from_space(obs), ActionCodec.from_space(action), False)
    s = NetworkSettings(**settings)
    return build(lambda: ActorCritic(spec, s), "actor_critic", Rng(0), True)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_cell_forgets_where_an_episode_begins(kind: str) -> None:
    torch.manual_seed(0)
    cell = Recurrent(2, 3, kind)
    x, carry = torch.randn(6, 2, 2), torch.randn(2, cell.carry_size)
    first = torch.zeros(6, 2, dtype=torch.bool)
    first[3, 0] = True  # the second episode of row 0 begins at step 3
    out, last = cell(x, carry, first)
    alone, last_alone = cell(
        x[3:, :1], torch.zeros(1, cell.carry_size), torch.zeros(3, 1, dtype=torch.bool)
    )
    assert torch.allclose(out[3:, 0], alone[:, 0], atol=1e-6)
    assert torch.allclose(last[0], last_alone[0], atol=1e-6)
    unbroken, _ = cell(x, carry, torch.zeros_like(first))
    assert torch.allclose(out[:, 1], unbroken[:, 1], atol=1e-6)
    assert not torch.allclose(out[3:, 0], unbroken[3:, 0], atol=1e-3)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_cell_equals_torch_over_a_sequence(kind: str) -> None:
    torch.manual_seed(0)
    cell = Recurrent(2, 3, kind)
    judge = (torch.nn.LSTM if kind == "lstm" else torch.nn.GRU)(2, 3)
    judge.load_state_dict({f"{k}_l0": v for k, v in cell.cell.state_dict().items()})
    x = torch.randn(5, 4, 2)
    zeros = torch.zeros(4, cell.carry_size)
    out, carry = cell(x, zeros, torch.zeros(5, 4, dtype=torch.bool))
    expected, state = judge(x)
    assert torch.allclose(out, expected, atol=1e-6)
    state = torch.cat([s[0] for s in state], dim=-1) if kind == "lstm" else state[0]
    assert torch.allclose(carry, state, atol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_step_by_step_equals_the_sequence(kind: str, shared: bool) -> None:
    """What `act` does one step at a time is what the loss computes at once."""
    net = make(recurrent=kind, hidden_size=5, share_features=shared, net_arch=[6])
    x = torch.from_numpy(Rng(0).normal("x", (7, 2, 3)))
    first = torch.zeros(7, 2, dtype=torch.bool)
    carry = torch.zeros(2, net.carry_size)
    whole = net(x, None, carry, first)
    for t in range(7):
        one = net(x[t : t + 1], None, carry, first[t : t + 1])
        assert torch.allclose(one.value[0], whole.value[t], atol=1e-6)
        assert torch.allclose(one.actions.log_probs[0][0], whole.actions.log_probs[0][t], atol=1e-6)
        carry = one.carry
    assert torch.allclose(carry, whole.carry, atol=1e-6)


def test_separate_networks_share_nothing_and_a_trunk_is_shared() -> None:
    x = torch.ones(2, 3)
    net = make()
    net(x).value.sum().backward()
    assert all(p.grad is None for p in net.policy.parameters())
    shared = make(share_features=True)
    shared(x).value.sum().backward()
    assert shared.shared is not None
    assert all(p.grad is not None for p in shared.shared.parameters())
    assert set(shared.chunks()) == {"policy", "value", "shared"}
    covered = [p for chunk in shared.chunks().values() for p in chunk.parameters()]
    assert len({id(p) for p in covered}) == len(list(shared.parameters())) == len(covered)


def test_images_keep_leading_axes_and_are_scaled() -> None:
    net = make_encoder((1, 8, 8))
    image = torch.from_numpy(np.arange(2 * 3 * 64).astype(np.uint8).reshape(2, 3, 1, 8, 8))
    out = net(image)
    assert out.shape == (2, 3, 512)
    assert torch.allclose(out[1, 2], net(image[1, 2][None])[0], atol=1e-5)


def test_a_net_of_your_own_must_say_its_outputs() -> None:
    with pytest.raises(ConfigError, match="outputs"):
        make_encoder((3,), lambda shapes: torch.nn.Linear(3, 2))


def test_state_dependent_exploration_has_the_variance_it_claims() -> None:
    """Raffin et al. 2021, equation 8: one matrix for all states gives Gaussian actions."""
    net = make(action=spaces.Box(-1, 1, (2,)), use_sde=True, net_arch=[5], log_std_init=-0.5)
    x = torch.from_numpy(Rng(0).normal("x", (1, 3))).expand(20_000, 3)
    p, _, _ = net.features(x)
    head = net.policy["head"]
    actions = head(p, None)
    matrix = torch.from_numpy(Rng(0).normal("m", (20_000, 5, 2)))
    normal = head.sde_noise(p, matrix, actions.std)
    taken = actions.sample(torch.empty(20_000, 0), normal)
    assert torch.allclose(normal.std(0), torch.ones(2), atol=0.03)
    assert torch.allclose(taken.std(0), actions.std[0], rtol=0.03)
    assert torch.allclose(taken.mean(0), actions.mean[0], atol=0.03)


def test_layer_norm_and_activations() -> None:
    net = make(layer_norm=True, activation="silu", net_arch=[4])
    kinds = [type(layer).__name__ for layer in net.policy["torso"].mlp.layers]
    assert kinds == ["Linear", "LayerNorm", "SiLU"]
