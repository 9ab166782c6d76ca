"""Deep Q-learning, Mnih et al. 2015 (Nature 518), with the usual improvements as settings.

The loss is the Huber loss of `r + gamma max_a Q'(s', a) - Q(s, a)`, Q' being a copy of the network
that follows it slowly. `double` (van Hasselt et al. 2016, equation 4): the network chooses the
next action, Q' values it. `dueling` (Wang et al. 2016): values and advantages apart. `n_step`
(Sutton 1988) and `prioritized` (Schaul et al. 2016) are settings of the replay memory.

Deviations: `tau` below 1 moves Q' a little each time. An action of several choices has a value for
each choice, and all share one target, the mean over them (Tavakoli et al. 2018, equation 6), which
for a single choice is the plain one. Illegal actions (masks) are neither chosen nor bootstrapped
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos.off_policy import (
    GAP_STEPS,
    UPDATE_METRICS,
    VALUE_METRICS,
    VALUE_METRICS_AT_TIMES,
    check,
    memory,
    prepare,
    random_now,
    replay_metrics,
    rollout_length,
    td_metrics,
    tensor,
    updates_due,
)
from dressage.core.algorithm import Needs, Task
from dressage.core.collector import Acted
from dressage.core.config import (
    Activation,
    Count,
    OptimizerSettings,
    SchedulableBound,
    SchedulablePositive,
    SchedulableRate,
    SchedulableShare,
    TorsoSettings,
)
from dressage.core.learner import Learner
from dressage.core.replay import Replay, ReplaySettings
from dressage.explore.choices import ChoiceNoise, choice_noise, choose
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.rng import Rng
    from dressage.core.steps import Steps, Tree

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


class Config(TorsoSettings, ReplaySettings, OptimizerSettings):
    """Settings of DQN; the defaults are SB3's, with double Q-learning."""

    net_arch: list[Count] = Field([64, 64], description="hidden widths")
    activation: Activation = Field("relu", description="of hidden layers")
    optimizer_eps: SchedulablePositive = Field(1e-8, description="epsilon of the optimizer")
    ortho_init: bool = Field(False, description="orthogonal weights instead of PyTorch's default")
    learning_rate: SchedulableRate = Field(1e-4, description="step size (alias lr)")
    train_freq: Count = Field(4, description="vector steps between updates")
    batch_size: int = Field(32, ge=1, description="transitions of an update")
    max_grad_norm: SchedulableBound = Field(10.0, description="gradients are clipped to this norm")
    target_update_interval: Count = Field(
        10_000, description="env steps between moves of the target network"
    )
    tau: SchedulableShare = Field(1.0, description="how far it moves; 1: a copy")
    double: bool = Field(True, description="the network chooses what the target values")
    dueling: bool = Field(False, description="state value and advantages apart")
    epsilon: SchedulableShare = Field(
        "linear(1, 0.05, until=0.1)", description="share of random actions"
    )
    temperature: SchedulableRate = Field(
        0.0, description="Boltzmann exploration over values; 0: none"
    )


NEEDS = Needs(
    feed="replay",
    actions=("categorical",),
    masks=True,
    metrics=(*UPDATE_METRICS, *VALUE_METRICS, "train/loss/td"),
    metrics_at_times=VALUE_METRICS_AT_TIMES,
    preview=True,
)


def init(task: Task, cfg: Config) -> Learner:
    """A network of action values, and its slow copy."""
    from dressage.nets.initialise import build
    from dressage.nets.q_network import QNetwork

    learner = Learner(device=task.device, precision=task.run.precision, compile=task.run.compile)
    net = build(lambda: QNetwork(task.spec, cfg, task.custom_net), "q", task.rng, cfg.ortho_init)
    learner.add_net("q", net)
    learner.add_group("all", {"q": net}, cfg)
    learner.add_target("target", "all", "q")
    return learner


def carry_size(learner: Learner) -> int:
    return int(learner.nets["q"].carry_size)


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Config) -> ChoiceNoise:
    epsilon = 1.0 if random_now(cfg, index, n_envs) else cfg.epsilon
    categories = learner.nets["q"].categories
    return choice_noise(rng, index, n_envs, categories, epsilon, cfg.temperature)


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ChoiceNoise | None) -> Acted:
    """Actions of N environments; without noise the best ones."""
    net = learner.nets["q"]
    with torch.inference_mode():
        q = net(tensor(learner, obs)).cpu().numpy()
    return Acted(choose(q, net.categories, mask, noise), None, {})


def chosen(q: Tensor, action: Tensor, categories: Any) -> Tensor:
    """`[B, choices]` and `[B, actions]` -> `[B, actions]`: the values of what was chosen."""
    parts = torch.split(q, list(categories), dim=-1)
    return torch.cat(
        [part.gather(-1, action[:, i : i + 1].long()) for i, part in enumerate(parts)], dim=-1
    )


def best(q: Tensor, categories: Any, mask: Tensor | None) -> Tensor:
    """`[B, choices]` -> `[B, actions]`: the best legal choices."""
    if mask is not None:
        q = q.masked_fill(~mask, -torch.inf)
    return torch.stack(
        [part.argmax(-1) for part in torch.split(q, list(categories), dim=-1)], dim=-1
    )


def td_target(nets: dict[str, Any], batch: Steps, double: bool) -> tuple[Tensor, Tensor]:
    """`r + discount Q'(s', a')` `[B, 1]`, and how far the two networks are apart."""
    categories = nets["q"].categories
    with torch.no_grad():
        following = nets["target"](batch.next_obs)
        mask = batch.extras.get("next_mask")
        chooser = nets["q"](batch.next_obs) if double else following
        value = chosen(following, best(chooser, categories, mask), categories).mean(-1, True)
        target = batch.reward.unsqueeze(-1) + batch.extras["discount"].unsqueeze(-1) * value
        return target, (chooser - following).abs().mean()


def dqn_loss(nets: dict[str, Any], batch: Steps, cfg: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """The weighted Huber loss of the TD error; `[B, …]`."""
    q = chosen(nets["q"](batch.obs), batch.action, nets["q"].categories)
    target, drift = td_target(nets, batch, cfg.double)
    error = target - q
    huber = torch.nn.functional.smooth_l1_loss(q, target.expand_as(q), reduction="none").mean(-1)
    loss = (batch.extras["weight"] * huber).mean()
    metrics = td_metrics(q, error) | {
        "train/loss/td": loss.detach(),
        "train/metrics/target_drift": drift,
        "td_error": error.detach().abs().mean(-1),
    }
    return loss, metrics


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[dict[str, Any]]:
    """Gradient steps on batches of the memory, then the target's move if it is due."""
    count, inspect = updates_due(memory, cfg), learner.inspect_next
    learner.set_optimizer("all", cfg, {"q": cfg.learning_rate})
    collected: list[dict[str, Any]] = []
    place: Any = None
    for batch in memory.batches(rng, count, cfg):
        metrics = learner.step("all", dqn_loss, learner.tensors(batch), cfg)
        place, error = batch.extras["place"], metrics.pop("td_error")
        if cfg.prioritized:
            memory.feedback(place, error.cpu().numpy(), cfg)
        collected.append(metrics)
    if _target_due(memory, cfg):
        learner.follow("target", cfg.tau)
    if collected and inspect:
        collected[-1] |= replay_metrics(memory, place, count, cfg) | value_gap(learner, memory, cfg)
    return collected


def _target_due(memory: Replay, cfg: Config) -> bool:
    """Whether a multiple of the interval lies within the steps just made."""
    n_envs, every = memory.ring.n_envs, cfg.target_update_interval
    now = memory.ring.high * n_envs
    return now // every > (now - cfg.train_freq * n_envs) // every


def value_gap(learner: Learner, memory: Replay, cfg: Config) -> dict[str, float]:
    """How far predicted values lie above the returns that followed (overestimation)."""
    recent = memory.recent_returns(cfg.gamma, GAP_STEPS)
    if recent is None:
        return {}
    obs, action, returns = recent
    net = learner.nets["q"]
    with torch.inference_mode():
        q = chosen(net(tensor(learner, obs)), tensor(learner, action), net.categories).mean(-1)
        return {"train/metrics/q_gap": float(q.mean()) - float(returns.mean())}
