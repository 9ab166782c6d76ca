"""Distributions over actions against torch.distributions and plain numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import distributions as D

from dressage.core.rng import Rng
from dressage.nets.distribution import Actions, categorical_log_probs, log_slope, unsquash

RNG = Rng(0)


def normal(*shape: int, stream: str = "x") -> torch.Tensor:
    return torch.from_numpy(RNG.normal(stream, shape)).double()


def hybrid(squash: bool = False) -> Actions:
    """Two choices (2 and 3 categories) beside two dimensions, for four states."""
    log_probs = categorical_log_probs(normal(4, 5, stream="logits"), (2, 3), None)
    std = torch.tensor([0.5, 1.5], dtype=torch.float64)
    return Actions(log_probs, normal(4, 2, stream="mean"), std, squash)


def test_choices_equal_torch_categorical() -> None:
    logits = normal(6, 4)
    actions = Actions(categorical_log_probs(logits, (4,), None), None, None, False)
    judge = D.Categorical(logits=logits)
    taken = torch.arange(6).remainder(4)
    assert torch.allclose(actions.log_prob(taken[:, None].double()), judge.log_prob(taken))
    assert torch.allclose(actions.entropy(taken[:, None].double()), judge.entropy())
    assert torch.equal(actions.mode()[:, 0].long(), judge.probs.argmax(-1))


def test_hybrid_is_a_product() -> None:
    actions = hybrid()
    taken = torch.tensor([[1.0, 2.0, 0.3, -2.0]] * 4, dtype=torch.float64)
    parts = [D.Categorical(logits=p) for p in actions.log_probs]
    gauss = D.Normal(actions.mean, actions.std)
    expected = (
        parts[0].log_prob(torch.ones(4))
        + parts[1].log_prob(torch.full((4,), 2))
        + gauss.log_prob(taken[:, 2:]).sum(-1)
    )
    assert torch.allclose(actions.log_prob(taken), expected)
    entropy = parts[0].entropy() + parts[1].entropy() + gauss.entropy().sum(-1)
    assert torch.allclose(actions.entropy(taken), entropy)


def test_a_masked_choice_is_the_softmax_over_what_is_allowed() -> None:
    logits = normal(5, 5)
    mask = torch.tensor([[1, 1, 0, 1, 1], [1, 0, 1, 0, 0], [0, 1, 0, 0, 1]] + [[1] * 5] * 2).bool()
    log_probs = categorical_log_probs(logits, (2, 3), mask)
    for part, at in zip(log_probs, (slice(0, 2), slice(2, 5)), strict=True):
        weights = np.exp(logits[:, at].numpy()) * mask[:, at].numpy()
        expected = weights / weights.sum(-1, keepdims=True)
        assert np.allclose(part.exp().numpy(), expected, atol=1e-12)
    actions = Actions(log_probs, None, None, False)
    taken = actions.mode()
    p = [np.exp(part.numpy()) for part in log_probs]
    entropy = sum(-(q * np.log(np.where(q > 0, q, 1.0))).sum(-1) for q in p)
    assert np.allclose(actions.entropy(taken).numpy(), entropy)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_masks_leave_everything_finite(dtype: torch.dtype) -> None:
    logits = (10 * normal(3, 4)).to(dtype).requires_grad_()
    mask = torch.tensor([[False, True, False, False]] * 3)
    actions = Actions(categorical_log_probs(logits, (4,), mask), None, None, False)
    taken = torch.ones(3, 1)
    assert actions.log_prob(taken).abs().max() == 0.0
    (actions.entropy(taken).sum() + actions.log_prob(taken).sum()).backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_samples_have_the_right_frequencies_and_no_forbidden_ones() -> None:
    logits = torch.tensor([0.5, -1.0, 2.0, 0.0, 1.0])
    mask = torch.tensor([True, False, True, True, False])
    count = 40_000
    log_probs = categorical_log_probs(logits.expand(count, 5), (5,), mask.expand(count, 5))
    uniform = torch.from_numpy(RNG.uniform("u", (count, 1)))
    taken = Actions(log_probs, None, None, False).sample(uniform, torch.empty(count, 0))
    share = np.bincount(taken[:, 0].long().numpy(), minlength=5) / count
    assert share[1] == share[4] == 0.0
    expected = log_probs[0][0].exp().numpy()
    assert np.abs(share - expected).max() < 4 * math.sqrt(0.25 / count)


@pytest.mark.parametrize("u", [0.0, 1.0 - 2.0**-24])
@pytest.mark.parametrize("allowed", [0, 2, 4])
def test_the_ends_of_the_uniform_pick_allowed_categories(u: float, allowed: int) -> None:
    mask = torch.zeros(1, 5, dtype=torch.bool)
    mask[0, allowed] = True
    log_probs = categorical_log_probs(torch.zeros(1, 5), (5,), mask)
    taken = Actions(log_probs, None, None, False).sample(torch.tensor([[u]]), torch.empty(1, 0))
    assert taken.item() == allowed


def test_many_small_probabilities_do_not_run_over_the_end() -> None:
    log_probs = categorical_log_probs(normal(50, 1000).float(), (1000,), None)
    u = torch.full((50, 1), 1.0 - 2.0**-24)
    assert Actions(log_probs, None, None, False).sample(u, torch.empty(50, 0)).max() <= 999


def test_squashed_log_prob_is_the_change_of_variables() -> None:
    mean, std = torch.tensor([[0.3, -1.0]]).double(), torch.tensor([0.7, 0.4]).double()
    actions = Actions((), mean, std, True)
    judge = D.TransformedDistribution(D.Normal(mean, std), D.TanhTransform())
    taken = torch.tensor([[0.5, -0.9]]).double()
    assert torch.allclose(actions.log_prob(taken), judge.log_prob(taken).sum(-1))


def test_squashed_density_integrates_to_one_and_entropy_matches_it() -> None:
    mean, std = torch.tensor([0.4]).double(), torch.tensor([0.6]).double()
    edges = torch.linspace(-1, 1, 200_001, dtype=torch.float64)
    a = ((edges[1:] + edges[:-1]) / 2)[:, None]
    width = float(edges[1] - edges[0])
    log_p = Actions((), mean.expand_as(a), std, True).log_prob(a)
    density = log_p.exp()
    assert float(density.sum()) * width == pytest.approx(1.0, abs=1e-4)
    entropy = float(-(density * log_p).sum()) * width
    draws = normal(100_000, 1, stream="entropy")
    actions = Actions((), mean.expand_as(draws), std, True)
    estimate = actions.entropy(actions.sample(torch.empty(100_000, 0), draws)).mean()
    assert float(estimate) == pytest.approx(entropy, abs=0.01)


def test_the_gradient_of_a_squashed_entropy_is_that_of_the_entropy() -> None:
    """With minus the log-probability, as SB3 has it, this gradient would be zero on average."""

    def exact(mean: float, log_std: float) -> float:
        x = np.linspace(-12.0, 12.0, 100_001)
        std = math.exp(log_std)
        p = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))
        slope = 2.0 * (math.log(2.0) - x - np.logaddexp(0.0, -2.0 * x))
        gauss = 0.5 + 0.5 * math.log(2 * math.pi) + log_std
        return gauss + float(np.trapezoid(p * slope, x))

    draws = normal(200_000, 1, stream="gradient")
    mean = torch.tensor([0.8], dtype=torch.float64, requires_grad=True)
    log_std = torch.tensor([0.2], dtype=torch.float64, requires_grad=True)
    actions = Actions((), mean.expand_as(draws), log_std.exp(), True)
    taken = actions.sample(torch.empty(len(draws), 0), draws).detach()
    actions.entropy(taken).mean().backward()
    h = 1e-4
    for parameter, at in ((mean, (h, 0.0)), (log_std, (0.0, h))):
        up, down = exact(0.8 + at[0], 0.2 + at[1]), exact(0.8 - at[0], 0.2 - at[1])
        assert parameter.grad is not None
        assert float(parameter.grad) == pytest.approx((up - down) / (2 * h), abs=0.01)


def test_squashing_survives_the_bounds() -> None:
    ends = torch.tensor([-1.0, 1.0])
    assert torch.isfinite(unsquash(ends)).all()
    assert torch.isfinite(log_slope(torch.tensor([-40.0, 40.0]))).all()
    x = torch.linspace(-3, 3, 13).double()
    assert torch.allclose(log_slope(x), torch.log1p(-(torch.tanh(x) ** 2)))


def test_dimensions_are_mean_plus_std_times_noise_in_order() -> None:
    actions = hybrid()
    noise = normal(4, 2, stream="noise")
    taken = actions.sample(torch.zeros(4, 2).double(), noise)
    assert torch.equal(taken[:, 2:], actions.mean + actions.std * noise)
    assert torch.equal(taken[:, :2], torch.zeros(4, 2).double())
    squashed = hybrid(squash=True)
    assert torch.equal(squashed.mode()[:, 2:], torch.tanh(actions.mean))
