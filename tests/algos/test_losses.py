"""Losses against ten lines of numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from dressage.algos import a2c, ppo, reinforce
from dressage.algos.on_policy import divergence
from dressage.core.rng import Rng
from dressage.core.steps import Steps
from dressage.nets.distribution import Actions, categorical_log_probs

RNG = Rng(0)
B = 12


def x(stream: str, *shape: int) -> np.ndarray:
    return RNG.normal(stream, shape or (B,)).astype(np.float64)


class Out(NamedTuple):
    actions: Actions
    value: torch.Tensor


def batch(**extras: Any) -> tuple[dict[str, Any], Steps, np.ndarray, np.ndarray]:
    """Networks that answer with fixed logits and values, a batch, and both answers in numpy."""
    logits, value = x("logits", B, 3), x("value")
    taken = RNG.integers("taken", B, 3)
    out = Out(
        Actions(categorical_log_probs(torch.from_numpy(logits), (3,), None), None, None, False),
        torch.from_numpy(value),
    )
    tensors = {name: torch.from_numpy(array) for name, array in extras.items()}
    tensors["first"] = torch.zeros(B, dtype=torch.bool)
    action = torch.from_numpy(taken[:, None]).double()
    steps = Steps(None, action, None, None, None, None, tensors)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    nets = {"actor_critic": lambda obs, mask, carry, first: out}
    return nets, steps, np.log(p), value


@pytest.mark.parametrize("clip_range_vf", [None, 0.3])
@pytest.mark.parametrize("normalize", ["minibatch", "off"])
def test_ppo_loss(clip_range_vf: float | None, normalize: str) -> None:
    advantage, returns, old_value = x("advantage"), x("returns"), x("old_value")
    taken = RNG.integers("taken", B, 3)
    nets, steps, log_p, value = batch(
        advantage=advantage, returns=returns, value=old_value, log_prob=x("old") * 0.3 - 1.0
    )
    cfg = ppo.Config(
        clip_range=0.2,
        clip_range_vf=clip_range_vf,
        normalize_advantage=normalize,
        ent_coef=0.01,
        vf_coef=0.4,
    )
    total, metrics = ppo.ppo_loss(nets, steps, cfg)

    a = advantage
    if normalize == "minibatch":
        a = (a - a.mean()) / (a.std(ddof=1) + 1e-8)
    log_prob = log_p[np.arange(B), taken]
    ratio = np.exp(log_prob - (x("old") * 0.3 - 1.0))
    policy = -np.minimum(ratio * a, np.clip(ratio, 0.8, 1.2) * a).mean()
    error = (value - returns) ** 2
    if clip_range_vf is not None:
        near = old_value + np.clip(value - old_value, -0.3, 0.3)
        error = np.maximum(error, (near - returns) ** 2)
    entropy = -(np.exp(log_p) * log_p).sum(-1).mean()
    expected = policy + 0.4 * error.mean() - 0.01 * entropy

    assert float(total) == pytest.approx(expected)
    assert float(metrics["train/loss/policy"]) == pytest.approx(policy)
    assert float(metrics["train/loss/value"]) == pytest.approx(error.mean())
    assert float(metrics["train/loss/entropy"]) == pytest.approx(-0.01 * entropy)
    assert float(metrics["train/metrics/entropy"]) == pytest.approx(entropy)
    clipped = (np.abs(ratio - 1) > 0.2).mean()
    assert float(metrics["train/metrics/clip_fraction"]) == pytest.approx(clipped)
    assert float(metrics["train/metrics/ratio_max"]) == pytest.approx(ratio.max())
    kl = (ratio - 1 - np.log(ratio)).mean()
    assert float(metrics["train/metrics/kl_divergence"]) == pytest.approx(kl)


def test_the_surrogate_stops_pushing_beyond_the_clip() -> None:
    log_prob = torch.tensor([0.5, 0.5, -0.5, -0.5], requires_grad=True)
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0])
    ppo.policy_loss(log_prob, torch.zeros(4), advantage, 0.2)[0].backward()
    assert log_prob.grad is not None
    # far up and good, far down and bad: done; the other two must still come back
    assert (log_prob.grad == 0).tolist() == [True, False, False, True]


def test_a_clipped_value_keeps_the_worse_error() -> None:
    value, old, returns = torch.tensor([2.0, 0.1]), torch.zeros(2), torch.tensor([3.0, 0.0])
    loss, metrics = ppo.value_loss(value, old, returns, 0.5)
    assert float(loss) == pytest.approx(((0.5 - 3.0) ** 2 + 0.1**2) / 2)
    assert float(metrics["train/metrics/value_clip_fraction"]) == 0.5
    assert "train/metrics/value_clip_fraction" not in ppo.value_loss(value, old, returns, None)[1]


def test_a2c_loss() -> None:
    advantage, returns = x("advantage"), x("returns")
    taken = RNG.integers("taken", B, 3)
    nets, steps, log_p, value = batch(advantage=advantage, returns=returns)
    total, _ = a2c.a2c_loss(nets, steps, a2c.Config(ent_coef=0.1))
    entropy = -(np.exp(log_p) * log_p).sum(-1).mean()
    policy = -(log_p[np.arange(B), taken] * advantage).mean()
    assert float(total) == pytest.approx(
        policy + 0.5 * ((value - returns) ** 2).mean() - 0.1 * entropy
    )


def test_reinforce_loss() -> None:
    advantage, returns = x("advantage"), x("returns")
    counted = np.arange(B) % 3 != 0
    taken = RNG.integers("taken", B, 3)
    nets, steps, log_p, value = batch(
        advantage=advantage, returns=returns, weight=counted / counted.mean()
    )
    total, _ = reinforce.reinforce_loss(nets, steps, reinforce.Config(ent_coef=0.1))
    log_prob = log_p[np.arange(B), taken]
    policy = -(log_prob * advantage)[counted].mean()  # the mean over the steps that count
    entropy = -(np.exp(log_p) * log_p).sum(-1)[counted].mean()
    assert float(total) == pytest.approx(policy - 0.1 * entropy)
    fit, _ = reinforce.baseline_loss(nets, steps)
    assert float(fit) == pytest.approx(((value - returns) ** 2).mean())


def test_the_divergence_is_that_of_the_distributions() -> None:
    old, new = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    drawn = np.random.default_rng(0).choice(3, 200_000, p=old)
    estimate = divergence(torch.from_numpy(np.log(new / old)[drawn]))
    assert float(estimate) == pytest.approx((old * np.log(old / new)).sum(), rel=0.05)
