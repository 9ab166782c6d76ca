"""What REINFORCE, A2C and PPO share before a run begins: checks, networks and their optimizer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dressage.core.algorithm import Task
from dressage.core.learner import Learner
from dressage.errors import ConfigError
from dressage.explore import bonus

POLICY_METRICS = (
    "train/loss/policy",
    "train/loss/entropy",
    "train/loss/total",
    "train/metrics/entropy",
    "train/metrics/kl_divergence",
    "train/metrics/grad_norm/*",
    "train/metrics/grad_clipped",
    "train/metrics/skipped_updates",
    "train/metrics/update_to_weight/*",
    "train/metrics/weight_norm/*",
    "train/metrics/dormant_share/*",
    "train/roll/adv_mean",
    "train/roll/adv_std",
    "train/roll/return_mean",
    "train/roll/return_std",
)
VALUE_METRICS = (
    "train/loss/value",
    "train/metrics/explained_variance",
    "train/roll/value_mean",
)
ON_POLICY_METRICS_AT_TIMES = (
    "train/metrics/action_std",  # continuous actions
    *bonus.METRICS,
)


def check_batches(cfg: Any, n_envs: int) -> None:
    """Minibatches must share a rollout out evenly, and sequences must fit in both."""
    steps = cfg.n_steps * n_envs
    if steps < 2:
        raise ConfigError(
            "n_steps=1 x n_envs=1 is one step, and a batch has at least 2: n_steps=2."
        )
    if steps % cfg.batch_size:
        raise ConfigError(
            f"batch_size={cfg.batch_size} does not divide the rollout of n_steps={cfg.n_steps} x "
            f"n_envs={n_envs} = {steps} steps. The nearest that does: "
            f"batch_size={nearest_divisor(steps, cfg.batch_size, least=2)}."
        )
    if cfg.recurrent == "none":
        return
    if cfg.n_steps % cfg.sequence_length or cfg.batch_size % cfg.sequence_length:
        good = nearest_divisor(math.gcd(cfg.n_steps, cfg.batch_size), cfg.sequence_length)
        raise ConfigError(
            f"sequence_length={cfg.sequence_length} must divide both n_steps={cfg.n_steps} and "
            f"batch_size={cfg.batch_size}. The nearest that does: sequence_length={good}."
        )


def nearest_divisor(number: int, wanted: int, least: int = 1) -> int:
    """The divisor of `number` nearest to `wanted` by ratio, of those not below `least`."""
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    divisors = {*small, *(number // d for d in small)}
    return min((d for d in divisors if d >= least), key=lambda d: abs(math.log(d / wanted)))


def init(task: Task, cfg: Any) -> Learner:
    """An actor and a critic, and one optimizer for both."""
    learner = new_learner(task, cfg)
    learner.add_group("all", learner.nets["actor_critic"].chunks(), cfg)
    return learner


def new_learner(task: Task, cfg: Any) -> Learner:
    """An actor and a critic, their first weights drawn from the run's seed; no optimizer yet."""
    from dressage.nets.actor_critic import ActorCritic
    from dressage.nets.initialise import build

    _check(task, cfg)
    learner = Learner(device=task.device, precision=task.run.precision, compile=task.run.compile)
    net = build(
        lambda: ActorCritic(task.spec, cfg, task.custom_net),
        "actor_critic",
        task.rng,
        cfg.ortho_init,
    )
    learner.add_net("actor_critic", net)
    bonus.add_bonus(learner, task, cfg)
    return learner


def _check(task: Task, cfg: Any) -> None:
    action = task.spec.action
    if cfg.share_features and isinstance(cfg.net_arch, dict):
        raise ConfigError("share_features=true has one trunk: give net_arch as one list of widths.")
    if (cfg.squash or cfg.use_sde) and not action.continuous:
        raise ConfigError("squash and use_sde are for continuous actions, and this task has none.")
    if cfg.squash and not np.isfinite(action.high - action.low).all():
        raise ConfigError("squash=true needs bounded actions: this task has some without bounds.")
    if cfg.squash and not (np.all(action.low == -1) and np.all(action.high == 1)):
        raise ConfigError("squash=true needs actions in [-1, 1]: leave scale_actions=true.")


def learning_rates(learner: Learner, cfg: Any, group: str = "all") -> dict[str, float]:
    """The rate of each chunk: `value_learning_rate` for the value network where it is set."""
    value_rate = cfg.learning_rate if cfg.value_learning_rate is None else cfg.value_learning_rate
    chunks = learner.groups[group].modules
    return {name: value_rate if name == "value" else cfg.learning_rate for name in chunks}
