"""REINFORCE, Williams 1992 ("Simple statistical gradient-following algorithms for connectionist
reinforcement learning", Machine Learning 8), with and without a baseline.

Section 7, "Episodic REINFORCE":  Delta w = alpha (r - b) sum_t grad log pi(a_t | s_t), here with
the discounted reward to come instead of the episode's total (an action does not change the past):
    G_t = r_t + gamma r_t+1 + …,   grad log pi(a_t | s_t) (G_t - b(s_t)).
The baseline b is a value network (`baseline=true`), fitted to the returns of each rollout after
the policy's step, with an optimizer of its own: one step a rollout would leave it far behind (14
updates on CartPole: a return of 160 instead of 500), as Spinning Up's 80 steps tell too.

A rollout is a fixed number of steps and may end in the middle of an episode; of that episode
- with a baseline: the return goes on with b(s) at the cut (as it does where the clock ended an
  episode), so that every step counts;
- without: the steps since the last end in the rollout have no return, and weigh nothing. An episode
  that the clock ended counts as it is: its return is that of the time limit. What began in the
  rollout before still counts, since a return needs the future only. Long episodes lose more steps
  than short ones, so choose `n_steps` well above their length; `train/roll/counted_share` tells.

Deviations from the paper: Adam, mean over steps instead of sum over episodes, returns normalised a
rollout at a time (`normalize_advantage=off` is Williams' form), clipped gradients, no gamma^t in
front of the gradient (as everywhere). Recurrent: gradients flow through the whole rollout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dressage.algos.a2c import policy_loss, value_loss
from dressage.algos.actor_critic import (
    ON_POLICY_METRICS_AT_TIMES,
    POLICY_METRICS,
    VALUE_METRICS,
    learning_rates,
    new_learner,
)
from dressage.algos.on_policy import (
    act,
    action_deviation,
    carry_size,
    forward,
    next_values,
    noise,
    normalised,
    policy_change,
    return_metrics,
    value_metrics,
    weighted_sum,
)
from dressage.core.algorithm import Needs
from dressage.core.config import (
    NetworkSettings,
    OptimizerSettings,
    Schedulable,
    SchedulableRate,
    SchedulableShare,
    true_means,
)
from dressage.core.memory import Rollout
from dressage.core.summaries import combined
from dressage.explore.bonus import BonusSettings, rewarded_rollout
from dressage.math.returns import discounted_returns

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.algorithm import Task
    from dressage.core.learner import Learner
    from dressage.core.rng import Rng
    from dressage.core.steps import Steps

__all__ = [
    "NEEDS",
    "Config",
    "act",
    "carry_size",
    "check",
    "init",
    "memory",
    "noise",
    "prepare",
    "rollout_length",
    "update",
]


class Config(NetworkSettings, OptimizerSettings, BonusSettings):
    """Settings of REINFORCE; a rollout holds an episode of any classic-control task."""

    n_steps: int = Field(512, ge=2, description="vector steps between updates")
    baseline: bool = Field(True, description="subtract a learned value of the state from returns")
    gamma: SchedulableShare = Field(0.99, description="discount")
    normalize_advantage: Annotated[Literal["batch", "off"], true_means("batch")] = Field(
        "batch", description="batch: advantages of a rollout get mean 0 and deviation 1"
    )
    ent_coef: Schedulable = Field(0.0, description="weight of the entropy bonus")
    baseline_steps: int = Field(40, ge=1, description="gradient steps on the baseline a rollout")
    learning_rate: SchedulableRate = Field(0.01, description="step size (alias lr)")


NEEDS = Needs(
    feed="rollout",
    preview=True,
    recurrent=True,
    masks=True,
    metrics=(*POLICY_METRICS, "train/roll/counted_share"),
    metrics_at_times=(*ON_POLICY_METRICS_AT_TIMES, *VALUE_METRICS),  # the latter: baseline=true
    native="reinforce",
)


def reinforce_loss(
    nets: dict[str, Any], batch: Steps, cfg: Config
) -> tuple[Tensor, dict[str, Tensor]]:
    """The policy gradient on one rollout `[T, N, …]`.

    `weight` is 0 for steps without a return, and has mean 1.
    """
    x, out = batch.extras, forward(nets, batch)
    log_prob = out.actions.log_prob(batch.action)
    return weighted_sum(
        policy_loss(log_prob, x["weight"] * x["advantage"]),
        None,
        (x["weight"] * out.actions.entropy(batch.action)).mean(),
        cfg,
    )


def baseline_loss(nets: dict[str, Any], batch: Steps) -> tuple[Tensor, dict[str, Tensor]]:
    loss = value_loss(forward(nets, batch).value, batch.extras["returns"])
    return loss, {"train/loss/value": loss.detach()}


def check(cfg: Config, n_envs: int) -> None:
    pass


def init(task: Task, cfg: Config) -> Learner:
    """Policy and baseline learn apart; without a baseline nothing trains the value network."""
    learner = new_learner(task, cfg)
    chunks = learner.nets["actor_critic"].chunks()
    value = {"value": chunks.pop("value")}
    learner.add_group("policy", chunks, cfg)
    if cfg.baseline:
        learner.add_group("value", value, cfg)
    return learner


def rollout_length(cfg: Config) -> int:
    return cfg.n_steps


def memory(cfg: Config) -> Rollout:
    return Rollout(batch_size=None)


def prepare(learner: Learner, steps: Steps, cfg: Config) -> tuple[Steps, dict[str, float]]:
    """Adds `returns`, `advantage` and `weight` to the extras."""
    steps, bonus_metrics = rewarded_rollout(learner, steps, cfg)
    value, ends = steps.extras["value"], (steps.terminated, steps.truncated)
    if cfg.baseline:
        returns = discounted_returns(steps.reward, next_values(learner, steps), *ends, cfg.gamma)
        advantage, counted = returns - value, np.ones(value.shape, bool)
        metrics = value_metrics(value, returns)
    else:
        returns = discounted_returns(steps.reward, np.zeros_like(value), *ends, cfg.gamma)
        advantage, counted = returns.copy(), ends_later(steps.terminated | steps.truncated)
        metrics = {}
    metrics["train/roll/counted_share"] = float(counted.mean())
    if counted.any():  # else there is nothing to learn from this time
        metrics |= return_metrics(advantage[counted], returns[counted])
        if cfg.normalize_advantage == "batch":
            advantage[counted] = normalised(advantage[counted])
    weight = counted.astype(np.float32) / max(float(counted.mean()), 1e-8)
    extras = steps.extras | {"advantage": advantage, "returns": returns, "weight": weight}
    return steps._replace(extras=extras), bonus_metrics | metrics | action_deviation(learner)


def ends_later(done: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether the episode of each step `[T, N]` ends at it or later in the rollout."""
    return np.logical_or.accumulate(done[::-1], axis=0)[::-1]


def update(learner: Learner, memory: Rollout, rng: Rng, cfg: Config) -> dict[str, float]:
    """One gradient step of the policy on the whole rollout, some of the baseline."""
    inspect = learner.inspect_next
    (batch,) = (learner.tensors(steps) for steps in memory.batches(rng))
    learner.set_optimizer("policy", cfg, learning_rates(learner, cfg, "policy"))
    metrics = learner.step("policy", reinforce_loss, batch, cfg)
    if inspect:
        metrics |= policy_change(learner, batch)
    if cfg.baseline:
        learner.set_optimizer("value", cfg, learning_rates(learner, cfg, "value"))
        for left in reversed(range(cfg.baseline_steps)):
            learner.inspect_next = inspect and left == 0
            fitted = learner.step("value", baseline_loss, batch)
        metrics = fitted | metrics  # norms and counts that both have are the policy's
    return combined([metrics])
