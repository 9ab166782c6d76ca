"""Losses of SAC, TD3 and relatives against a few lines of numpy; noise against its equations."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

import dressage
from dressage.algos import crossq, ddpg, sac, sac_discrete, td3, tqc
from dressage.core.learner import Learner
from dressage.core.rng import Rng
from dressage.core.spec import TaskSpec
from dressage.core.steps import Steps
from dressage.envs.spaces import ActionCodec, ObsCodec
from dressage.errors import ConfigError
from dressage.explore.action_noise import action_noise, explored
from dressage.explore.parameter_noise import adapt, add_parameter_noise, interval_passed, perturb
from dressage.nets.batch_norm import BatchRenorm, learning_statistics
from dressage.nets.choices import ChoiceActor, ChoiceCritics
from dressage.nets.continuous import Critics, GaussianActor
from dressage.nets.initialise import build

RNG = Rng(0)
B, D, A, E = 12, 3, 2, 2


def x(stream: str, *shape: int) -> np.ndarray:
    return RNG.normal(stream, shape or (B,)).astype(np.float64)


def t(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array)


WEIGHTS = {name: x(name, E, D + A) for name in ("critic", "target")}
POLICIES = {name: 0.5 * x(name, D, A) for name in ("actor", "actor_target")}
STD = np.exp(0.3 * x("std", A))


class LinearCritics(nn.Module):
    """`Q_i = w_i . (obs, action)`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.w = nn.Parameter(t(WEIGHTS[name]))

    def forward(self, obs: Any, action: Any, members: int | None = None) -> Any:
        w = self.w[:members] if members else self.w
        return (torch.cat((obs, action), -1) @ w.T).T


def critic(name: str, obs: np.ndarray, action: np.ndarray) -> np.ndarray:
    return (np.concatenate((obs, action), -1) @ WEIGHTS[name].T).T


def policy(name: str, obs: np.ndarray) -> np.ndarray:
    return np.tanh(obs @ POLICIES[name])


def nets(gaussian: bool) -> dict[str, Any]:
    def noisy(obs: torch.Tensor, noise: torch.Tensor) -> Any:
        mean = obs @ t(POLICIES["actor"])
        return SimpleNamespace(mean=mean, std=t(STD).expand_as(mean)), noise

    plain = {name: lambda obs, name=name: torch.tanh(obs @ t(POLICIES[name])) for name in POLICIES}
    actors = {"actor": SimpleNamespace(noisy=noisy)} if gaussian else plain
    return {"critic": LinearCritics("critic"), "target": LinearCritics("target"), **actors}


def batch() -> tuple[Steps, SimpleNamespace]:
    """Twelve transitions, two of them terminal, and the same in numpy."""
    n = SimpleNamespace(
        obs=x("obs", B, D),
        next_obs=x("next", B, D),
        action=np.tanh(x("action", B, A)),
        reward=x("reward"),
        discount=np.where(np.arange(B) < 2, 0.0, 0.9),
        weight=RNG.uniform("weight", B).astype(np.float64),
    )
    extras = {"discount": t(n.discount), "weight": t(n.weight)}
    steps = Steps(t(n.obs), t(n.action), t(n.reward), None, None, t(n.next_obs), extras)
    return steps, n


def regression(n: SimpleNamespace, target: np.ndarray) -> float:
    error = target - critic("critic", n.obs, n.action)
    return float(0.5 * (n.weight * error**2).mean(-1).sum())


def test_td3_critics() -> None:
    steps, n = batch()
    normal = 3.0 * x("smoothing", B, A)  # far enough out for the clip to matter
    cfg = td3.Config(target_policy_noise=0.2, target_noise_clip=0.3)
    loss, metrics = td3.critic_loss(nets(False), steps, t(normal), cfg)

    noise = np.clip(0.2 * normal, -0.3, 0.3)
    action = np.clip(policy("actor_target", n.next_obs) + noise, -1.0, 1.0)
    target = n.reward + n.discount * critic("target", n.next_obs, action).min(0)
    q = critic("critic", n.obs, n.action)
    assert loss.item() == pytest.approx(regression(n, target))
    assert metrics["td_error"].numpy() == pytest.approx(np.abs(target - q).mean(0))
    spread = float(metrics["train/metrics/critic_disagreement"])
    assert spread == pytest.approx((q.max(0) - q.min(0)).mean())


def test_td3_actor_asks_the_first_critic() -> None:
    steps, n = batch()
    loss, _ = td3.actor_loss(nets(False), steps)
    assert loss.item() == pytest.approx(-critic("critic", n.obs, policy("actor", n.obs))[0].mean())


def test_ddpg_critic() -> None:
    steps, n = batch()
    loss, _ = ddpg.critic_loss(nets(False), steps)
    following = critic("target", n.next_obs, policy("actor_target", n.next_obs)).min(0)
    assert loss.item() == pytest.approx(regression(n, n.reward + n.discount * following))


def squashed(obs: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Actions, and their log-densities by the change of variables."""
    mean = obs @ POLICIES["actor"]
    raw = mean + STD * normal
    gaussian = -0.5 * normal**2 - np.log(STD) - 0.5 * np.log(2.0 * np.pi)
    return np.tanh(raw), (gaussian - np.log(1.0 - np.tanh(raw) ** 2)).sum(-1)


def test_sac_critics() -> None:
    steps, n = batch()
    normal = x("draw", B, A)
    loss, _ = sac.critic_loss(nets(True), steps, t(normal), torch.tensor(0.3))
    action, log_prob = squashed(n.next_obs, normal)
    following = critic("target", n.next_obs, action).min(0) - 0.3 * log_prob
    assert loss.item() == pytest.approx(regression(n, n.reward + n.discount * following), rel=1e-5)


def test_sac_actor_and_temperature() -> None:
    steps, n = batch()
    normal = x("draw", B, A)
    loss, metrics = sac.actor_loss(nets(True), steps, t(normal), torch.tensor(0.3))
    action, log_prob = squashed(n.obs, normal)
    smallest = critic("critic", n.obs, action).min(0)
    assert loss.item() == pytest.approx((0.3 * log_prob - smallest).mean(), rel=1e-5)
    temperature = {"alpha": SimpleNamespace(log_alpha=torch.tensor(-1.2))}
    loss, _ = sac.temperature_loss(temperature, metrics["log_prob"], -2.0)
    assert loss.item() == pytest.approx(1.2 * (log_prob - 2.0).mean(), rel=1e-5)


# -- exploration ---------------------------------------------------------------------------------


def test_gaussian_noise_is_added_and_clipped() -> None:
    cfg = td3.Config(noise_std=0.5)
    noise = action_noise(RNG, 4, (50, A), cfg, random=False)
    acted = explored(np.full((50, A), 0.8, np.float32), None, noise, 0)
    expected = np.clip(0.8 + 0.5 * RNG.normal("act/normal", (50, A), 4), -1.0, 1.0)
    assert acted.action == pytest.approx(expected)
    assert (acted.action == 1.0).any()


def test_ornstein_uhlenbeck_noise_follows_its_equation() -> None:
    cfg = td3.Config(action_noise="ou", noise_std=0.2, ou_theta=0.3, ou_dt=0.5)
    zero = np.zeros((3, A), np.float32)
    carry: Any = np.concatenate((np.ones((3, 4), np.float32), zero), axis=1)  # a cell's, then ours
    expected = zero
    for index in range(5):
        noise = action_noise(RNG, index, (3, A), cfg, random=False)
        action, carry, _ = explored(zero, carry, noise, A)
        normal = RNG.normal("act/normal", (3, A), index)
        expected = expected - 0.3 * expected * 0.5 + 0.2 * np.sqrt(0.5) * normal
        assert action == pytest.approx(expected, rel=1e-5)
    assert (carry[:, :4] == 1.0).all()


def test_random_actions_leave_the_noise_as_it_is() -> None:
    cfg = td3.Config(action_noise="ou")
    noise = action_noise(RNG, 0, (3, A), cfg, random=True)
    carry = np.full((3, A), 0.25, np.float32)
    action, after, _ = explored(np.zeros((3, A), np.float32), carry, noise, A)
    assert after == pytest.approx(carry)
    assert np.abs(action).max() > 0.3


def test_noise_on_weights_and_its_scale() -> None:
    learner = Learner()
    actor = learner.add_net("actor", nn.Linear(D, A))
    cfg = td3.Config(parameter_noise=0.2)
    learner.add_group("actor", {"actor": actor}, cfg)
    add_parameter_noise(learner, "actor", "actor", RNG, cfg)
    perturb(learner, RNG, 7)
    noisy, weights = learner.targets["perturbed"]
    added = 0.2 * RNG.normal("parameter_noise", len(weights), 7)
    assert (noisy - weights).detach().numpy() == pytest.approx(added, abs=1e-6)
    scale = learner.nets["parameter_noise"].scale
    adapt(learner, torch.tensor(0.1), 0.2)
    assert float(scale) == pytest.approx(0.2 * 1.01)
    adapt(learner, torch.tensor(0.3), 0.2)
    assert float(scale) == pytest.approx(0.2)


def test_intervals() -> None:
    assert [interval_passed(made, 4, 10) for made in (4, 8, 12, 16, 20)] == [
        False,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("algo", ["td3", "sac"])
def test_a_trained_policy_explores_as_trained(algo: str, tmp_path: Path) -> None:
    """Training's random first steps are not repeated by `predict`."""
    settings: dict[str, Any] = {"env_steps": 60, "learning_starts": 40, "batch_size": 8}
    quiet = {"noise_std": 0.01} if algo == "td3" else {"use_sde": True, "log_std_init": -9.0}
    kinds = {"env_kwargs": {"action": "continuous"}, "engine": "torch", "backend": "inline"}
    run: Any = dressage.train(
        "dressage.envs.toys:Kinds", algo=algo, runs=tmp_path, **settings, **quiet, **kinds
    )
    policy = dressage.load(run, trust=True)
    obs = np.ones(3, np.float32)
    action, _ = policy.predict(obs, deterministic=False)  # the first draw of all
    assert action == pytest.approx(policy.predict(obs)[0], abs=0.2)


# -- quantiles and batch norm --------------------------------------------------------------------


class Heads(nn.Module):
    """Five quantiles, `w . (obs, action) + offset`; their mean is the value."""

    OFFSETS = np.array([-1.0, -0.3, 0.0, 0.4, 2.0])

    def __init__(self, name: str) -> None:
        super().__init__()
        self.critics = LinearCritics(name)

    def heads(self, obs: Any, action: Any) -> Any:
        return self.critics(obs, action).unsqueeze(-1) + t(self.OFFSETS)

    def forward(self, obs: Any, action: Any) -> Any:
        return self.heads(obs, action).mean(-1)


def test_tqc_critics_leave_the_largest_quantiles_out() -> None:
    steps, n = batch()
    normal = x("draw", B, A)
    networks = nets(True) | {"critic": Heads("critic"), "target": Heads("target")}
    loss, metrics = tqc.critic_loss(networks, steps, t(normal), torch.tensor(0.3), 1)

    action, log_prob = squashed(n.next_obs, normal)
    after = critic("target", n.next_obs, action)[..., None] + Heads.OFFSETS  # [E, B, 5]
    total, q = 0.0, critic("critic", n.obs, n.action)[..., None] + Heads.OFFSETS
    for i in range(B):
        kept = np.sort(after[:, i].reshape(-1))[:8]  # of ten, one less for each critic
        target = n.reward[i] + n.discount[i] * (kept - 0.3 * log_prob[i])
        for one in q[:, i]:
            error = target[None] - one[:, None]
            huber = np.where(np.abs(error) < 1, 0.5 * error**2, np.abs(error) - 0.5)
            level = (np.arange(5) + 0.5) / 5
            total += n.weight[i] * (np.abs(level[:, None] - (error < 0)) * huber).mean() / B
    assert loss.item() == pytest.approx(total, rel=1e-5)
    assert metrics["train/metrics/q_mean"].item() == pytest.approx(q.mean())


def test_tqc_improves_on_the_mean_of_its_critics() -> None:
    steps, n = batch()
    normal = x("draw", B, A)
    mean = tqc.mean_of_critics
    loss, _ = sac.actor_loss(nets(True), steps, t(normal), torch.tensor(0.3), mean)
    action, log_prob = squashed(n.obs, normal)
    expected = (0.3 * log_prob - critic("critic", n.obs, action).mean(0)).mean()
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_crossq_critics_value_the_successor_in_the_same_batch() -> None:
    steps, n = batch()
    normal = x("draw", B, A)
    layer = BatchRenorm((1, D + A), momentum=0.1, warmup=10).double()

    class Normed(LinearCritics):
        def __init__(self) -> None:
            super().__init__("critic")
            self.norm = layer

        def forward(self, obs: Any, action: Any, members: int | None = None) -> Any:
            return (self.norm(torch.cat((obs, action), -1)) @ self.w.T).T

    networks = nets(True) | {"critic": Normed()}
    loss, _ = crossq.critic_loss(networks, steps, t(normal), torch.tensor(0.3))

    action, log_prob = squashed(n.next_obs, normal)
    one, two = np.concatenate((n.obs, n.action), 1), np.concatenate((n.next_obs, action), 1)
    both = np.concatenate((one, two))
    scaled = (both - both.mean(0)) / np.sqrt(both.var(0) + 1e-3)
    q, after = np.split((scaled @ WEIGHTS["critic"].T).T, 2, axis=1)
    error = n.reward + n.discount * (after.min(0) - 0.3 * log_prob) - q
    assert loss.item() == pytest.approx(0.5 * (n.weight * error**2).mean(-1).sum(), rel=1e-5)
    assert layer.mean.numpy() == pytest.approx(0.1 * both.mean(0, keepdims=True), rel=1e-5)
    loss.backward()
    follows = networks["critic"].w.grad.clone()
    networks["critic"].w.grad = None
    expected = [(-n.weight * e) @ scaled[:B] / B for e in error]  # none through the target
    assert follows.numpy() == pytest.approx(np.array(expected), rel=1e-4)


def test_batch_renormalisation_corrects_to_the_running_statistics() -> None:
    layer = BatchRenorm((1, 2), momentum=0.5, warmup=1).double()
    first, second = x("first", 8, 2), 1.0 + 0.5 * x("second", 8, 2)
    with learning_statistics(layer):
        plain = layer(t(first)).detach().numpy()
        mean, variance = 0.5 * first.mean(0), 0.5 + 0.5 * first.var(0)
        corrected = layer(t(second)).detach().numpy()
    assert plain == pytest.approx((first - first.mean(0)) / np.sqrt(first.var(0) + 1e-3))
    # neither bound is met here: as if by the running statistics, the gradient apart
    assert corrected == pytest.approx((second - mean) / np.sqrt(variance + 1e-3))
    mean, variance = (mean + second.mean(0)) / 2, (variance + second.var(0)) / 2
    after = layer(t(first)).detach().numpy()
    assert after == pytest.approx((first - mean) / np.sqrt(variance + 1e-3))
    assert int(layer.passes) == 2


# -- choices -------------------------------------------------------------------------------------


def spec_of(action: Any) -> TaskSpec:
    obs = ObsCodec.from_space(spaces.Box(-1, 1, (D,)))
    return TaskSpec(obs, ActionCodec.from_space(action), True)


def test_discrete_sac_with_two_choices_and_masks() -> None:
    """A choice of 2 beside one of 3."""
    cfg = sac_discrete.Config(net_arch=[])
    spec = spec_of(spaces.MultiDiscrete([2, 3]))
    makers = {"critic": ChoiceCritics, "target": ChoiceCritics}
    networks: dict[str, Any] = {
        name: build(lambda make=make: make(spec, cfg, E), name, RNG, False).double()  # type: ignore[misc]
        for name, make in makers.items()
    }
    networks["actor"] = build(lambda: ChoiceActor(spec, cfg), "actor", RNG, False).double()
    steps, n = batch()
    taken = np.stack((RNG.integers("two", B, 2), RNG.integers("three", B, 3)), 1)
    mask = RNG.uniform("mask", (B, 5)) < 0.6
    mask[:, [0, 2]] = True
    extras = steps.extras | {"mask": t(mask), "next_mask": t(mask)}
    steps = steps._replace(action=t(taken.astype(np.float64)), extras=extras)

    def values(name: str, obs: np.ndarray) -> np.ndarray:
        layer = networks[name].mlp.layers[0]
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        return np.stack([obs @ weight[i] + bias[i] for i in range(E)])

    def soft(name: str, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        layer = networks["actor"].logits
        logits = obs @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        q, value, entropy = values(name, obs).min(0), 0.0, 0.0
        for part in (slice(0, 2), slice(2, 5)):
            p = np.exp(logits[:, part]) * mask[:, part]
            p /= p.sum(-1, keepdims=True)
            log_p = np.log(np.where(p > 0, p, 1.0))
            value += (p * (q[:, part] - 0.3 * log_p)).sum(-1) / 2
            entropy -= (p * log_p).sum(-1)
        return np.asarray(value), np.asarray(entropy)

    alpha = torch.tensor(0.3)
    loss, _ = sac_discrete.critic_loss(networks, steps, alpha)
    target = n.reward + n.discount * soft("target", n.next_obs)[0]
    q = values("critic", n.obs)
    chosen = np.stack((q[:, np.arange(B), taken[:, 0]], q[:, np.arange(B), 2 + taken[:, 1]]), -1)
    error = target[:, None] - chosen
    expected = 0.5 * (n.weight * (error**2).mean(-1)).mean(-1).sum()
    assert loss.item() == pytest.approx(expected, rel=1e-5)

    loss, metrics = sac_discrete.actor_loss(networks, steps, alpha)
    value, entropy = soft("critic", n.obs)
    assert loss.item() == pytest.approx(-value.mean(), rel=1e-5)
    assert metrics["log_prob"].numpy() == pytest.approx(-entropy, rel=1e-5)
    counts = np.log(mask[:, :2].sum(-1)) + np.log(mask[:, 2:].sum(-1))
    aimed = sac_discrete.target_entropy((2, 3), steps, cfg)
    assert aimed == pytest.approx(0.98 * counts.mean(), rel=1e-5)


# -- networks ------------------------------------------------------------------------------------


def test_state_dependent_exploration() -> None:
    cfg = sac.Config(net_arch=[4], use_sde=True, log_std_init=-0.5)
    actor = build(lambda: GaussianActor(spec_of(spaces.Box(-1, 1, (A,))), cfg), "actor", RNG, False)
    obs = torch.from_numpy(RNG.normal("sde", (B, D)))
    matrix = torch.from_numpy(RNG.normal("matrix", (4, A)))
    features = actor.torso(obs, None, None)[0].detach().numpy()
    actions, normal = actor.noisy(obs, matrix)
    added = (actions.std * normal).detach().numpy()
    assert added == pytest.approx(features @ (np.exp(-0.5) * matrix.numpy()), abs=1e-6)
    std = np.sqrt((features**2) @ np.full((4, A), np.exp(-1.0)) + 1e-6)
    assert actions.std.detach().numpy() == pytest.approx(std, rel=1e-5)
    each = actor.noisy(obs, matrix.expand(B, -1, -1))[1]  # one matrix for each row
    assert each.detach().numpy() == pytest.approx(normal.detach().numpy(), abs=1e-6)


def test_the_first_critics_alone() -> None:
    cfg = td3.Config(net_arch=[5], layer_norm=True)
    critics = build(lambda: Critics(spec_of(spaces.Box(-1, 1, (A,))), cfg, 3), "critic", RNG, False)
    obs, action = (torch.from_numpy(RNG.normal(name, (B, k))) for name, k in (("o", D), ("a", A)))
    every, first = critics(obs, action), critics(obs, action, members=1)
    assert first.shape == (1, B)
    assert torch.allclose(every[:1], first, atol=1e-6)
    assert not torch.allclose(every[0], every[1], atol=1e-3)


@pytest.mark.parametrize("module", [sac, td3, ddpg, tqc, crossq, sac_discrete])
def test_recurrence_is_an_algorithm_of_its_own(module: Any) -> None:
    with pytest.raises(ConfigError, match="algo=recurrent_"):
        module.check(module.Config(recurrent="gru"), 1)


def test_tqc_must_keep_a_quantile() -> None:
    with pytest.raises(ConfigError, match="at most 24"):
        tqc.check(tqc.Config(top_quantiles_to_drop_per_net=25), 1)
