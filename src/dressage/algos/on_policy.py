"""What REINFORCE, A2C and PPO share: acting, advantages, the parts of their losses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dressage.core.collector import Acted
from dressage.core.rng import Rng
from dressage.core.steps import Steps, Tree, tree_map
from dressage.explore.bonus import rewarded_rollout
from dressage.lazy import torch
from dressage.math.returns import explained_variance, gae
from dressage.native.learner import NativeLearner

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.learner import Learner

Floats = npt.NDArray[np.float32]


class Noise(NamedTuple):
    """Random numbers for choosing N actions: `[N, choices]`, `[N, dimensions]`, gSDE's matrices."""

    uniform: Floats
    normal: Floats
    matrix: Floats | None  # [N, features, dimensions]


def carry_size(learner: Learner) -> int:
    return int(learner.nets["actor_critic"].carry_size)


@lru_cache(maxsize=4)
def sde_matrix(seed: int, shape: tuple[int, ...], draw: int) -> Floats:
    """gSDE's noise, which stays for many steps and is costly to draw."""
    return Rng(seed).normal("act/sde", shape, draw)


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Any) -> Noise:
    """The draw of vector step `index`: a function of the seed and the index alone."""
    net = learner.nets["actor_critic"]
    head = net.policy["head"]
    choices, dimensions = len(head.categories), head.continuous
    uniform = rng.uniform("act/choice", (n_envs, choices), index)
    if not dimensions:
        return Noise(uniform, uniform[:, :0], None)
    if cfg.use_sde:
        every = cfg.n_steps if cfg.sde_sample_freq < 1 else cfg.sde_sample_freq
        shape = (n_envs, net.features_size, dimensions)
        return Noise(uniform, uniform[:, :0], sde_matrix(rng.seed, shape, index // every))
    return Noise(uniform, rng.normal("act/normal", (n_envs, dimensions), index), None)


def act(
    learner: Learner,
    obs: Tree,
    carry: Floats | None,
    mask: npt.NDArray[np.bool_] | None,
    noise: Noise | None,
) -> Acted:
    """Actions of N environments; without noise the most probable ones."""
    net = learner.nets["actor_critic"]
    with torch.inference_mode():
        x, m = _tensor(learner, obs), None if mask is None else _tensor(learner, mask)
        if carry is None:
            p, v, next_carry = net.features(x)
        else:
            x = tree_map(lambda leaf: leaf.unsqueeze(0), x)  # a sequence of one
            first = torch.zeros((1, len(carry)), dtype=torch.bool, device=learner.device)
            p, v, next_carry = net.features(x, _tensor(learner, carry), first)
            p, v = p.squeeze(0), v.squeeze(0)
        actions = net.policy["head"](p, m)
        if noise is None:
            action = actions.mode()
            return Acted(action.cpu().numpy(), _array(next_carry), {})
        normal = _tensor(learner, noise.normal)
        if noise.matrix is not None:
            normal = net.policy["head"].sde_noise(p, _tensor(learner, noise.matrix), actions.std)
        action = actions.sample(_tensor(learner, noise.uniform), normal)
        extras = {
            "log_prob": actions.log_prob(action).cpu().numpy(),
            "value": net.value["head"](v).squeeze(-1).cpu().numpy(),
        }
        return Acted(action.cpu().numpy(), _array(next_carry), extras)


def prepare(
    learner: Learner | NativeLearner, steps: Steps, cfg: Any
) -> tuple[Steps, dict[str, float]]:
    """Adds `advantage` and `returns` (generalised advantage estimation) to the extras, after the
    exploration bonus to the reward, if there is one."""
    steps, bonus_metrics = rewarded_rollout(learner, steps, cfg)
    value = steps.extras["value"]
    advantage, returns = gae(
        steps.reward,
        value,
        next_values(learner, steps),
        steps.terminated,
        steps.truncated,
        cfg.gamma,
        cfg.gae_lambda,
    )
    metrics = return_metrics(advantage, returns) | value_metrics(value, returns)
    if cfg.normalize_advantage == "batch":
        advantage = normalised(advantage)
    extras = steps.extras | {"advantage": advantage, "returns": returns}
    return steps._replace(extras=extras), bonus_metrics | metrics | action_deviation(learner)


def normalised(advantage: Floats) -> Floats:
    """Mean 0 and deviation 1."""
    result: Floats = (advantage - advantage.mean()) / (advantage.std() + np.float32(1e-8))
    return result


def return_metrics(advantage: Floats, returns: Floats) -> dict[str, float]:
    return {
        "train/roll/adv_mean": float(advantage.mean()),
        "train/roll/adv_std": float(advantage.std()),
        "train/roll/return_mean": float(returns.mean()),
        "train/roll/return_std": float(returns.std()),
    }


def value_metrics(value: Floats, returns: Floats) -> dict[str, float]:
    return {
        "train/roll/value_mean": float(value.mean()),
        "train/metrics/explained_variance": explained_variance(value, returns),
    }


def next_values(learner: Learner | NativeLearner, steps: Steps) -> Floats:
    """V(next_obs) `[T, N]`: the next row's value, asked of the network only where there is none.

    That is at the last row, and where the clock ended an episode: the next row is then of another.
    """
    value = steps.extras["value"]
    result: Floats = np.zeros_like(value)  # after a terminal step: never read
    result[:-1] = value[1:]
    asked = steps.truncated & ~steps.terminated
    asked[-1] = ~steps.terminated[-1]
    rows = np.nonzero(asked)
    if not rows[0].size:
        return result
    if isinstance(learner, NativeLearner):
        result[rows] = learner.state_values(steps.next_obs[rows])
        return result
    net = learner.nets["actor_critic"]
    with torch.inference_mode():
        after = tree_map(lambda x: _tensor(learner, x[rows]), steps.next_obs)
        if "carry" in steps.extras:
            # the carry after a step is not stored: two steps from the carry before it give it back
            before = tree_map(lambda x: _tensor(learner, x[rows]), steps.obs)
            pair = (
                {k: torch.stack((before[k], after[k])) for k in before}
                if isinstance(before, dict)
                else torch.stack((before, after))
            )
            carry = _tensor(learner, steps.extras["carry"][rows])
            first = torch.zeros((2, len(carry)), dtype=torch.bool, device=learner.device)
            features = net.features(pair, carry, first)[1][1]
        else:
            features = net.features(after)[1]
        result[rows] = net.value["head"](features).squeeze(-1).cpu().numpy()
    return result


def forward(nets: dict[str, Any], batch: Steps) -> Any:
    """The networks on one batch: `[..., …]`, or `[L, B, …]` from the sequences' first carry."""
    x = batch.extras
    carry = x["carry"][0] if "carry" in x else None
    return nets["actor_critic"](batch.obs, x.get("mask"), carry, x["first"])


def weighted_sum(
    policy: Tensor, value: Tensor | None, entropy: Tensor, cfg: Any
) -> tuple[Tensor, dict[str, Tensor]]:
    """What the optimizer minimises, `policy + vf_coef value - ent_coef entropy`, and its parts."""
    total = policy if value is None else policy + cfg.vf_coef * value
    total = total - cfg.ent_coef * entropy
    metrics = {
        "train/loss/policy": policy.detach(),
        "train/loss/entropy": -cfg.ent_coef * entropy.detach(),
        "train/loss/total": total.detach(),
        "train/metrics/entropy": entropy.detach(),
    }
    return total, metrics if value is None else metrics | {"train/loss/value": value.detach()}


def divergence(log_ratio: Tensor) -> Tensor:
    """KL(old || new) from log(new / old) of actions drawn from old: Schulman's k3 estimator."""
    return (log_ratio.exp() - 1.0 - log_ratio).mean()


def policy_change(learner: Learner, batch: Steps) -> dict[str, Tensor]:
    """How far an update moved the policy: one more pass, for those that do not need it to learn."""
    with torch.no_grad():
        log_prob = forward(learner.nets, batch).actions.log_prob(batch.action)
        return {"train/metrics/kl_divergence": divergence(log_prob - batch.extras["log_prob"])}


def action_deviation(learner: Learner | NativeLearner) -> dict[str, float]:
    """The Gaussian policy's mean deviation; nothing for choices alone."""
    if isinstance(learner, NativeLearner):
        deviation = learner.action_deviation()
        return {} if deviation is None else {"train/metrics/action_std": deviation}
    head = learner.nets["actor_critic"].policy["head"]
    if not head.continuous:
        return {}
    return {"train/metrics/action_std": float(head.log_std.detach().exp().mean())}


def _tensor(learner: Learner, x: Tree) -> Any:
    return tree_map(lambda leaf: torch.from_numpy(leaf).to(learner.device), x)


def _array(x: Tensor | None) -> Floats | None:
    return None if x is None else x.cpu().numpy()
