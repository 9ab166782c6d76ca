"""Action values: of one batch of the replay memory, once an interval, beside the returns that
followed. What is drawn for that leaves SB3's generators as they were."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dressage.core.replay.replay import KNOWN_ENOUGH, RECENT_ROWS
from dressage.core.replay.returns import discounted_ahead
from dressage.lazy import torch
from dressage.sb3.experience import has_vectors, newest_rows, taken

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 256  # transitions; of images as many as the model learns from at once


@contextmanager
def undisturbed(device: Any) -> Iterator[None]:
    """Whatever is drawn within was never drawn."""
    plain, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 (SB3 draws here)
    devices = [device] if getattr(device, "type", "cpu") == "cuda" else []
    try:
        with torch.random.fork_rng(devices=devices), torch.no_grad():
            yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(plain)


def value_metrics(model: Any) -> dict[str, float]:
    """Of a model that has learned from its replay memory."""
    with undisturbed(model.device):
        size = BATCH if has_vectors(model.observation_space) else model.batch_size
        batch = model.replay_buffer.sample(size, env=model.get_vec_normalize_env())
        if hasattr(model.policy, "critic"):
            found = _of_critics(model, batch)
        else:
            found = _of_choices(model, batch)
        return {name: float(value) for name, value in found.items()} | _gap(model, size)


def _of_choices(model: Any, batch: Any) -> dict[str, Any]:
    """DQN and its relatives."""
    net, target_net = _networks(model)
    q = _each(net(batch.observations))
    following = _each(target_net(batch.next_observations)).max(dim=1, keepdim=True).values
    drift = (q - _each(target_net(batch.observations))).abs().mean()
    chosen = q.gather(1, batch.actions.long())
    error = _target(model, batch, following) - chosen
    return _td_metrics(chosen, error) | {"train/metrics/target_drift": drift}


def _networks(model: Any) -> tuple[Any, Any]:
    name = "q_net" if hasattr(model.policy, "q_net") else "quantile_net"
    return getattr(model.policy, name), getattr(model.policy, f"{name}_target")


def _each(q: Tensor) -> Tensor:
    """`[B, actions]`, of quantiles `[B, quantiles, actions]` the mean."""
    return q.mean(1) if q.dim() == 3 else q


def _of_critics(model: Any, batch: Any) -> dict[str, Any]:
    """SAC, TD3 and their relatives: `[B, critics]`."""
    policy = model.policy
    target_net = getattr(policy, "critic_target", policy.critic)  # CrossQ has none
    q = _critics(policy.critic(batch.observations, batch.actions))
    action, bonus = _next_action(model, batch)
    following = _critics(target_net(batch.next_observations, action)).amin(1, keepdim=True) + bonus
    found = _td_metrics(q, _target(model, batch, following) - q)
    if target_net is not policy.critic:
        slow = _critics(target_net(batch.observations, batch.actions))
        found["train/metrics/target_drift"] = (q - slow).abs().mean()
    if q.shape[1] > 1:
        found["train/metrics/critic_disagreement"] = (q.amax(1) - q.amin(1)).mean()
    if hasattr(policy.actor, "action_log_prob"):
        _, log_prob = policy.actor.action_log_prob(batch.observations)
        found["train/metrics/entropy"] = -log_prob.mean()
    return found


def _critics(values: Any) -> Tensor:
    """`[B, critics]`, of quantiles `[B, critics, quantiles]` the mean."""
    if isinstance(values, tuple):
        return torch.cat(values, dim=1)
    return values.mean(-1) if values.dim() == 3 else values  # type: ignore[no-any-return]


def _next_action(model: Any, batch: Any) -> tuple[Tensor, Tensor | float]:
    """What the target would do next, and what entropy adds to its value, `[B, 1]`."""
    policy, obs = model.policy, batch.next_observations
    if hasattr(policy.actor, "action_log_prob"):
        action, log_prob = policy.actor.action_log_prob(obs)
        learned = getattr(model, "log_ent_coef", None)
        alpha = model.ent_coef_tensor if learned is None else learned.exp()
        return action, -alpha * log_prob.reshape(-1, 1)
    noise = torch.randn_like(batch.actions) * model.target_policy_noise
    noise = noise.clamp(-model.target_noise_clip, model.target_noise_clip)
    return (policy.actor_target(obs) + noise).clamp(-1, 1), 0.0


def _target(model: Any, batch: Any, following: Tensor) -> Tensor:
    discounts = getattr(batch, "discounts", None)  # of several steps
    gamma = model.gamma if discounts is None else discounts
    return batch.rewards + (1 - batch.dones) * gamma * following  # type: ignore[no-any-return]


def _td_metrics(q: Tensor, error: Tensor) -> dict[str, Any]:
    size = error.abs()
    return {
        "train/metrics/q_mean": q.mean(),
        "train/metrics/q_max": q.max(),
        "train/metrics/td_error_mean": size.mean(),
        "train/metrics/td_error_max": size.max(),
    }


def _gap(model: Any, most: int) -> dict[str, float]:
    """Values less the returns that followed, of the newest steps for which these are known."""
    buffer, normalizer = model.replay_buffer, model.get_vec_normalize_env()
    at = newest_rows(buffer, RECENT_ROWS)
    reward = buffer.rewards[at]
    if normalizer is not None:
        reward = normalizer.normalize_reward(reward)
    ended, clock = buffer.dones[at].astype(bool), buffer.timeouts[at].astype(bool)
    returns, unknown = discounted_ahead(
        reward.astype(np.float32), ended & ~clock, ended & clock, model.gamma
    )
    known = np.flatnonzero(unknown.reshape(-1) <= KNOWN_ENOUGH)
    if not known.size:
        return {}
    chosen = known[np.linspace(0, known.size - 1, min(most, known.size)).astype(np.int64)]
    place = at[chosen // buffer.n_envs], chosen % buffer.n_envs
    obs = taken(buffer.observations, place)
    if normalizer is not None:
        obs = normalizer.normalize_obs(obs)
    if isinstance(obs, dict):
        tensors: Any = {key: buffer.to_torch(part) for key, part in obs.items()}
    else:
        tensors = buffer.to_torch(obs)
    action = buffer.to_torch(buffer.actions[place])
    if hasattr(model.policy, "critic"):
        q = _critics(model.policy.critic(tensors, action)).amin(1)
    else:
        q = _each(_networks(model)[0](tensors)).gather(1, action.long())
    return {"train/metrics/q_gap": float(q.mean()) - float(returns.reshape(-1)[chosen].mean())}


def memory_metrics(model: Any) -> dict[str, float]:
    """How full the replay memory is, and how old what a batch has from it."""
    buffer = model.replay_buffer
    rows = int(buffer.size())
    found = {"train/metrics/buffer_fill": rows / buffer.buffer_size}
    if type(buffer).__module__.startswith("stable_baselines3."):  # which all sample uniformly
        found["train/metrics/buffer_age"] = (rows + 1) / 2 * buffer.n_envs
    return found
