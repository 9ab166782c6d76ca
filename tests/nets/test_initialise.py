"""First weights: orthogonal, with the right gains, from their names alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from dressage.core.config import NetworkSettings
from dressage.core.initial import orthogonal
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.nets.actor_critic import ActorCritic
from dressage.nets.initialise import build, initialise


def task(image: bool = False) -> TaskSpec:
    from gymnasium import spaces

    box = spaces.Box(0, 255, (8, 8, 1), np.uint8) if image else spaces.Box(-1, 1, (3,))
    action = spaces.Tuple((spaces.Discrete(4), spaces.Box(-1, 1, (2,))))
    return TaskSpec(ObsCodec.from_space(box), ActionCodec.from_space(action), False)


def make(seed: int = 0, ortho: bool = True, image: bool = False, **settings: object) -> ActorCritic:
    s = NetworkSettings(**settings)  # type: ignore[arg-type]
    return build(lambda: ActorCritic(task(image), s), "actor_critic", Rng(seed), ortho)


@pytest.mark.parametrize("shape", [(64, 3), (3, 64), (16, 16), (32, 4, 3, 3)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    w = orthogonal(Rng(0), "w", shape, 1.7).reshape(shape[0], -1).astype(float)
    small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    assert np.allclose(small, 1.7**2 * np.eye(len(small)), atol=1e-5)


def test_gains_of_the_layers() -> None:
    net = make()
    policy, value = net.policy["torso"].mlp.layers, net.value["torso"].mlp.layers
    for layer, gain in (
        (policy[0], math.sqrt(2)),
        (value[2], math.sqrt(2)),
        (net.policy["head"].logits, 0.01),
        (net.policy["head"].mean, 0.01),
        (net.value["head"], 1.0),
    ):
        singular = torch.linalg.svdvals(layer.weight.detach())
        assert torch.allclose(singular, torch.full_like(singular, gain), rtol=1e-4)
        assert layer.bias.abs().max() == 0.0


def test_cells_are_orthogonal_with_gain_one() -> None:
    net = make(recurrent="lstm", hidden_size=8)
    w = net.policy["torso"].cell.cell.weight_hh.detach()
    assert torch.allclose(w.T @ w, torch.eye(8), atol=1e-5)


def test_without_ortho_it_is_torch_uniform() -> None:
    net = make(ortho=False)
    layer = net.policy["torso"].mlp.layers[2]
    bound = 1 / math.sqrt(64)
    for values in (layer.weight, layer.bias):
        assert values.abs().max() <= bound
        assert float(values.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.2)


def test_a_weight_depends_on_seed_and_name_and_nothing_else() -> None:
    a, b, other = make(0), make(0), make(1)
    for (name, x), y, z in zip(
        a.state_dict().items(), b.state_dict().values(), other.state_dict().values(), strict=True
    ):
        assert torch.equal(x, y)
        if name.endswith("weight"):
            assert not torch.equal(x, z)
    torch.manual_seed(99)
    torch.rand(10)  # the global generator has no say
    for x, y in zip(a.state_dict().values(), make(0).state_dict().values(), strict=True):
        assert torch.equal(x, y)
    # another width of the value network leaves the policy's first weights alone
    wide = make(0, net_arch={"policy": [64, 64], "value": [128]})
    for name, x in a.policy.state_dict().items():
        assert torch.equal(x, wide.policy.state_dict()[name])
    assert not torch.equal(
        a.policy["torso"].mlp.layers[0].weight, a.value["torso"].mlp.layers[0].weight
    )


def test_the_order_of_building_does_not_matter() -> None:
    one = nn.ModuleDict({"a": nn.Linear(3, 4), "b": nn.Linear(3, 4)})
    two = nn.ModuleDict({"b": nn.Linear(3, 4), "a": nn.Linear(3, 4)})
    for net in (one, two):
        initialise(net, "net", Rng(5), True)
    assert torch.equal(one["a"].weight, two["a"].weight)
    assert torch.equal(one["b"].weight, two["b"].weight)


def test_a_layer_may_keep_its_own_first_weights() -> None:
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    layer.keep_init = True  # type: ignore[assignment]
    initialise(nn.Sequential(layer), "net", Rng(0), True)
    assert torch.equal(layer.weight, before)


def test_building_leaves_torch_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    make()
    assert torch.equal(torch.rand(2), expected)
