"""Losses of DQN, C51 and QR-DQN, and noisy layers, against a few lines of numpy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from dressage.algos import c51, dqn, qr_dqn, rainbow
from dressage.algos.value_based import best, chosen, layer_noise
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.errors import ConfigError
from dressage.nets.noisy import NoisyLinear, noise_size, with_noise
from dressage.nets.q_network import QNetwork

RNG = Rng(0)
B, CATEGORIES = 6, (2, 3)
CHOICES = sum(CATEGORIES)
SUPPORT = torch.linspace(-2.0, 2.0, 5)


def x(stream: str, *shape: int) -> np.ndarray:
    return RNG.normal(stream, shape)


class Answers:
    """A network that gives row i of a table for the observation i."""

    def __init__(self, table: np.ndarray, support: Any = None) -> None:
        self.table, self.support, self.categories = torch.from_numpy(table), support, CATEGORIES

    def __call__(self, obs: Any, noise: Any = None) -> Any:
        return self.table[obs]

    def values(self, output: Any) -> Any:
        if output.dim() == 2:
            return output
        return output.mean(-1) if self.support is None else output.softmax(-1) @ self.support


def batch() -> tuple[Steps, np.ndarray, np.ndarray]:
    """Observations 0 to B-1 followed by B to 2B-1; the actions and the masks in numpy as well."""
    action = np.stack([RNG.integers(f"action{i}", B, n) for i, n in enumerate(CATEGORIES)], -1)
    mask = RNG.uniform("mask", (B, CHOICES)) < 0.6
    mask[:, [0, 2]] = True
    extras = {
        "weight": torch.from_numpy(RNG.uniform("weight", B)),
        "discount": torch.from_numpy(0.9 * (RNG.uniform("end", B) < 0.7).astype(np.float32)),
        "next_mask": torch.from_numpy(mask),
    }
    steps = Steps(
        torch.arange(B),
        torch.from_numpy(action).float(),
        torch.from_numpy(x("reward", B)),
        None,
        None,
        torch.arange(B, 2 * B),
        extras,
    )
    return steps, action, mask


def best_by_hand(q: np.ndarray, mask: np.ndarray) -> np.ndarray:
    legal = np.where(mask, q, -np.inf)
    return np.stack([legal[:, :2].argmax(-1), legal[:, 2:].argmax(-1)], -1)


def at(table: np.ndarray, action: np.ndarray) -> np.ndarray:
    """`[B, choices, …]` -> `[B, 2, …]`."""
    rows = np.arange(len(table))
    return np.stack([table[rows, action[:, 0]], table[rows, 2 + action[:, 1]]], 1)


@pytest.mark.parametrize("double", [False, True])
def test_dqn_loss(double: bool) -> None:
    steps, action, mask = batch()
    online, target = x("online", 2 * B, CHOICES), x("target", 2 * B, CHOICES)
    nets = {"q": Answers(online), "target": Answers(target)}
    loss, metrics = dqn.dqn_loss(nets, steps, dqn.Config(double=double))

    following = best_by_hand((online if double else target)[B:], mask)
    value = at(target[B:], following).mean(-1)
    goal = steps.reward.numpy() + steps.extras["discount"].numpy() * value
    error = goal[:, None] - at(online[:B], action)
    huber = np.where(np.abs(error) < 1, 0.5 * error**2, np.abs(error) - 0.5).mean(-1)
    assert float(loss) == pytest.approx((steps.extras["weight"].numpy() * huber).mean(), rel=1e-5)
    np.testing.assert_allclose(metrics["priority"], np.abs(error).mean(-1), rtol=1e-5)


def test_double_makes_a_difference() -> None:
    steps, _, _ = batch()
    nets = {"q": Answers(x("online", 2 * B, CHOICES)), "target": Answers(x("t", 2 * B, CHOICES))}
    one, two = (dqn.dqn_loss(nets, steps, dqn.Config(double=d))[0] for d in (False, True))
    assert float(one) != float(two)


def test_what_was_chosen_and_what_is_best() -> None:
    _, action, mask = batch()
    for shape in ((B, CHOICES), (B, CHOICES, 4)):
        table = x("table", *shape)
        found = chosen(torch.from_numpy(table), torch.from_numpy(action).float(), CATEGORIES)
        np.testing.assert_array_equal(found, at(table, action))
    q = x("q", B, CHOICES)
    found = best(torch.from_numpy(q), CATEGORIES, torch.from_numpy(mask))
    np.testing.assert_array_equal(found, best_by_hand(q, mask))


# -- C51 -----------------------------------------------------------------------------------------


def projected_by_hand(p: np.ndarray, moved: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Algorithm 1 of the paper, atom by atom."""
    found = np.zeros_like(p)
    spacing = support[1] - support[0]
    for row in range(len(p)):
        for j in range(len(support)):
            b = (np.clip(moved[row, j], support[0], support[-1]) - support[0]) / spacing
            low, high = int(np.floor(b)), int(np.ceil(b))
            if low == high:
                found[row, low] += p[row, j]
            else:
                found[row, low] += p[row, j] * (high - b)
                found[row, high] += p[row, j] * (b - low)
    return found


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_projection() -> None:
    support = SUPPORT.numpy()
    p, moved = softmax(x("p", B, 5)), 2.0 * x("moved", B, 5)
    moved[0] = support  # atoms that fall on atoms stay what they are
    found = c51.projected(torch.from_numpy(p), torch.from_numpy(moved), SUPPORT).numpy()
    np.testing.assert_allclose(found, projected_by_hand(p, moved, support), atol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(found[0], p[0], atol=1e-6)


@pytest.mark.parametrize("double", [False, True])
def test_c51_loss(double: bool) -> None:
    steps, action, mask = batch()
    online, target = x("online", 2 * B, CHOICES, 5), x("target", 2 * B, CHOICES, 5)
    nets = {"q": Answers(online, SUPPORT), "target": Answers(target, SUPPORT)}
    loss, metrics = c51.c51_loss(nets, steps, c51.Config(double=double, v_min=-2, v_max=2))

    support = SUPPORT.numpy()
    chooser = softmax((online if double else target)[B:]) @ support
    after = at(softmax(target[B:]), best_by_hand(chooser, mask)).mean(1)
    moved = steps.reward.numpy()[:, None] + steps.extras["discount"].numpy()[:, None] * support
    goal = projected_by_hand(after, moved, support)
    log_p = np.log(softmax(at(online[:B], action)))
    cross = -(goal[:, None] * log_p).sum(-1).mean(1)
    assert float(loss) == pytest.approx((steps.extras["weight"].numpy() * cross).mean(), rel=1e-5)
    kl = (np.where(goal > 0, goal * np.log(np.maximum(goal, 1e-30)), 0)).sum(-1) + cross
    np.testing.assert_allclose(metrics["priority"], kl, atol=1e-5)
    error = (goal @ support)[:, None] - np.exp(log_p) @ support
    np.testing.assert_allclose(metrics["td_error"], np.abs(error).mean(-1), atol=1e-5)
    beyond = (after * ((moved < -2) | (moved > 2))).sum(-1).mean()
    assert float(metrics["train/metrics/clipped_atoms"]) == pytest.approx(beyond, rel=1e-4)


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="v_min=3 is not below v_max=3"):
        c51.check(c51.Config(v_min=3, v_max=3), 1)


# -- QR-DQN --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [1.0, 0.3])
def test_quantile_huber(kappa: float) -> None:
    quantile, target = x("quantile", B, 4), x("goal", B, 3)
    found = qr_dqn.quantile_huber(torch.from_numpy(quantile), torch.from_numpy(target), kappa)
    for row in range(B):
        expected = 0.0
        for i, q in enumerate(quantile[row]):
            for goal in target[row]:
                u, tau = goal - q, (i + 0.5) / 4
                small = abs(u) <= kappa
                huber = 0.5 * u**2 if small else kappa * (abs(u) - 0.5 * kappa)
                expected += abs(tau - (u < 0)) * huber / kappa / 3
        assert float(found[row]) == pytest.approx(expected, rel=1e-5)


def test_quantiles_settle_at_those_of_the_target() -> None:
    """Following the gradient on samples of a distribution finds its quantiles."""
    quantile = torch.zeros(1, 5, requires_grad=True)
    sample = torch.linspace(0.0, 10.0, 1001).unsqueeze(0)  # uniform: the quantiles are the levels
    optimizer = torch.optim.Adam([quantile], lr=0.05)
    for _ in range(500):
        optimizer.zero_grad()
        qr_dqn.quantile_huber(quantile, sample, 0.01).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(quantile.detach()[0], [1, 3, 5, 7, 9], atol=0.1)


@pytest.mark.parametrize("double", [False, True])
def test_qr_loss(double: bool) -> None:
    steps, action, mask = batch()
    online, target = x("online", 2 * B, CHOICES, 4), x("target", 2 * B, CHOICES, 4)
    nets = {"q": Answers(online), "target": Answers(target)}
    loss, metrics = qr_dqn.qr_loss(nets, steps, qr_dqn.Config(double=double, n_quantiles=4))

    chooser = (online if double else target)[B:].mean(-1)
    after = at(target[B:], best_by_hand(chooser, mask)).mean(1)  # [B, 4]
    goal = steps.reward.numpy()[:, None] + steps.extras["discount"].numpy()[:, None] * after
    goals = torch.from_numpy(np.repeat(goal[:, None], 2, 1))
    each = qr_dqn.quantile_huber(torch.from_numpy(at(online[:B], action)), goals, 1.0).mean(1)
    assert float(loss) == pytest.approx(float((steps.extras["weight"] * each).mean()), rel=1e-5)
    np.testing.assert_allclose(metrics["priority"], each / 4, rtol=1e-5)
    error = goal.mean(-1, keepdims=True) - at(online[:B], action).mean(-1)
    np.testing.assert_allclose(metrics["td_error"], np.abs(error).mean(-1), atol=1e-5)


# -- networks ------------------------------------------------------------------------------------


def network(cfg: Any, atoms: int | None = None, support: Any = None) -> QNetwork:
    action = SimpleNamespace(categories=CATEGORIES)
    torch.manual_seed(0)
    return QNetwork(SimpleNamespace(obs_shapes=(3,), action=action), cfg, None, atoms, support)


@pytest.mark.parametrize("atoms", [None, 4])
def test_dueling(atoms: int | None) -> None:
    net = network(dqn.Config(dueling=True, net_arch=[8]), atoms)
    features = torch.from_numpy(x("features", B, 8))
    found = net.heads(features).detach().numpy()
    advantage = net.advantage(features).detach().numpy().reshape(B, CHOICES, -1)
    value = net.value(features).detach().numpy().reshape(B, 1, -1)  # type: ignore[misc]
    expected = np.concatenate(
        [
            part - part.mean(1, keepdims=True) + value
            for part in (advantage[:, :2], advantage[:, 2:])
        ],
        1,
    )
    np.testing.assert_allclose(found, expected.reshape(found.shape), atol=1e-6)


def test_expected_values_of_distributions() -> None:
    output = torch.from_numpy(x("output", B, CHOICES, 5))
    by_support = network(dqn.Config(), 5, SUPPORT).values(output)
    np.testing.assert_allclose(by_support, softmax(output.numpy()) @ SUPPORT.numpy(), atol=1e-6)
    by_quantiles = network(dqn.Config(), 5).values(output)
    np.testing.assert_allclose(by_quantiles, output.numpy().mean(-1), atol=1e-6)


def test_a_noisy_layer_by_hand() -> None:
    layer = NoisyLinear(3, 2, 0.5)
    with torch.no_grad():
        layer.weight_spread.copy_(torch.from_numpy(x("ws", 2, 3)))
        layer.bias_spread.copy_(torch.from_numpy(x("bs", 2)))
    normals, rows = x("normals", 5), x("rows", B, 3)
    with with_noise(layer, torch.from_numpy(normals)):
        found = layer(torch.from_numpy(rows)).detach().numpy()
    f = np.sign(normals) * np.sqrt(np.abs(normals))
    weight = layer.weight.detach().numpy() + layer.weight_spread.detach().numpy() * np.outer(
        f[3:], f[:3]
    )
    bias = layer.bias.detach().numpy() + layer.bias_spread.detach().numpy() * f[3:]
    np.testing.assert_allclose(found, rows @ weight.T + bias, atol=1e-6)


def test_a_noisy_layer_is_its_mean_on_average_and_when_it_is_evaluated() -> None:
    layer, row = NoisyLinear(4, 1, 0.5), torch.tensor([1.0, -2.0, 0.5, 3.0])
    outputs = []
    for i in range(4000):
        with with_noise(layer, torch.from_numpy(RNG.normal("layer", 5, i))):
            outputs.append(float(layer(row).detach()))
    mean = float(layer(row).detach())
    spread, m = 0.5 / np.sqrt(4), np.sqrt(2 / np.pi)  # m: the mean of f(e)^2
    variance = m * spread**2 * (m * float(row.square().sum()) + 1.0)
    assert np.mean(outputs) == pytest.approx(mean, abs=4 * np.sqrt(variance / 4000))
    assert np.var(outputs) == pytest.approx(variance, rel=0.15)
    plain = torch.nn.functional.linear(row, layer.weight, layer.bias)
    assert mean == float(plain.detach())


def test_noise_of_a_network() -> None:
    cfg = dqn.Config(noisy=True, dueling=True, net_arch=[8, 8])
    net, obs = network(cfg), torch.from_numpy(x("obs", B, 3))
    assert net.noise_size == noise_size(net) == (3 + 8) + (8 + 8) + (8 + CHOICES) + (8 + 1)
    draws = [torch.from_numpy(RNG.normal("net", net.noise_size, i)) for i in (0, 1)]
    one, again, other = net(obs, draws[0]), net(obs, draws[0]), net(obs, draws[1])
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert not torch.equal(one, net(obs)) and torch.equal(net(obs), net(obs))
    one.sum().backward()  # the spread is learned as well as the mean
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_an_update_has_noise_of_its_own_for_each_pass() -> None:
    learner = SimpleNamespace(nets={"q": network(dqn.Config(noisy=True))}, device="cpu")
    noise, again, later = (layer_noise(learner, RNG, i) for i in (3, 3, 4))
    rows = [*noise, *later]
    assert all(torch.equal(a, b) for a, b in zip(noise, again, strict=True))
    assert len({tuple(row.tolist()) for row in rows}) == 6  # type: ignore[union-attr]


def test_rainbow_is_c51_with_other_defaults() -> None:
    changed = {
        name
        for name, field in rainbow.Config.model_fields.items()
        if field.default != c51.Config.model_fields[name].default
    }
    assert {"double", "dueling", "noisy", "n_step", "prioritized", "epsilon"} <= changed
    assert rainbow.Config.model_fields.keys() == c51.Config.model_fields.keys()
    assert rainbow.update is c51.update


def test_recurrent_values_are_another_algorithm() -> None:
    with pytest.raises(ConfigError, match="algo=drqn"):
        dqn.check(dqn.Config(recurrent="gru"), 1)
