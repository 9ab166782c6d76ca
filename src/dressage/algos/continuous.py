"""What SAC, TD3 and their relatives share: settings, the critics' regression, the loop of updates.

Networks by name: `actor`, `critic` (an ensemble), `target` (its slow copy).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from dressage.algos import off_policy
from dressage.algos.off_policy import (
    GAP_STEPS,
    UPDATE_METRICS,
    VALUE_METRICS,
    VALUE_METRICS_AT_TIMES,
    bounded_actions,
    error_quantiles,
    replay_metrics,
    td_metrics,
    tensor,
    updates_due,
)
from dressage.core.config import (
    Activation,
    Count,
    OptimizerSettings,
    SchedulableBound,
    SchedulablePositive,
    SchedulableRate,
    SchedulableShare,
    Settings,
    TorsoSettings,
)
from dressage.core.learner import Learner
from dressage.core.replay import ReplaySettings
from dressage.errors import ConfigError
from dressage.explore.bonus import BonusSettings, add_bonus, observe_newest, rewarded_batch
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dressage.core.algorithm import Task
    from dressage.core.replay import Replay
    from dressage.core.rng import Rng
    from dressage.core.steps import Steps

Metrics = dict[str, Any]
METRICS = (*UPDATE_METRICS, *VALUE_METRICS, "train/loss/critic", "train/loss/actor")
METRICS_AT_TIMES = (*VALUE_METRICS_AT_TIMES, "train/metrics/critic_disagreement")


class ContinuousSettings(TorsoSettings, ReplaySettings, OptimizerSettings, BonusSettings):
    """An actor and critics of continuous actions; the defaults are SAC's."""

    net_arch: list[Count] | dict[str, list[Count]] = Field(
        [256, 256], description="hidden widths; or {policy: [...], value: [...]}"
    )
    activation: Activation = Field("relu", description="of hidden layers")
    ortho_init: bool = Field(False, description="orthogonal weights instead of PyTorch's default")
    optimizer_eps: SchedulablePositive = Field(1e-8, description="epsilon of the optimizer")
    max_grad_norm: SchedulableBound = Field("inf", description="gradients are clipped to this norm")
    value_learning_rate: SchedulableRate | None = Field(
        None, description="of the critics; none: the same"
    )
    n_critics: Count = Field(2, description="of whose values the smallest counts")


class TargetSettings(Settings):
    """Slow copies of networks."""

    GROUP: ClassVar[str] = "targets"

    tau: SchedulableShare = Field(0.005, description="share by which targets follow each update")


def check(cfg: Any, n_envs: int) -> None:
    off_policy.check(cfg, n_envs)
    if cfg.recurrent != "none":
        raise ConfigError(
            f"recurrent={cfg.recurrent} learns from sequences, which is an algorithm of its own: "
            "algo=recurrent_sac or algo=recurrent_td3."
        )


def new_learner(
    task: Task, cfg: Any, actor: Callable[[], nn.Module], critic: Callable[[], nn.Module]
) -> Learner:
    """A learner with the groups `actor` and `critic`, their first weights drawn by name."""
    from dressage.nets.initialise import build

    if task.spec.action.continuous:
        bounded_actions(task.spec)
    learner = Learner(device=task.device, precision=task.run.precision, compile=task.run.compile)
    for name, make in {"actor": actor, "critic": critic}.items():
        net = learner.add_net(name, build(make, name, task.rng, cfg.ortho_init))
        learner.add_group(name, {name: net}, cfg)
    add_bonus(learner, task, cfg)
    return learner


def carry_size(learner: Learner) -> int:
    return int(learner.nets["actor"].carry_size)


def critic_regression(
    nets: dict[str, Any], batch: Steps, target: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Half the squared error towards `target [B]`, summed over critics (SAC's equation 5)."""
    q = nets["critic"](batch.obs, batch.action)  # [E, B]
    error = target - q
    loss = 0.5 * (batch.extras["weight"] * error.square()).mean(-1).sum()
    return loss, critic_metrics(loss, q, error)


def critic_metrics(loss: Tensor, q: Tensor, error: Tensor) -> dict[str, Tensor]:
    """Of values and their errors, `[E, B]`; `td_error [B]` is for the memory."""
    metrics = td_metrics(q, error) | {
        "train/loss/critic": loss.detach(),
        "td_error": error.detach().abs().mean(0),
    }
    if len(q) > 1:
        spread = (q.amax(0) - q.amin(0)).detach().mean()
        metrics["train/metrics/critic_disagreement"] = spread
    return metrics


def learn(
    learner: Learner,
    memory: Replay,
    rng: Rng,
    cfg: Any,
    update_once: Callable[[Steps, int], list[Metrics]],
    measured: Callable[[Learner, Replay, Steps, Any], dict[str, float]] | None = None,
) -> list[Metrics]:
    """The updates that are due, each on a batch of its own; their metrics, one dict a step.

    `update_once(batch, index)` makes the steps of one update, the critics' first, and returns their
    metrics. `index` counts the updates of the run from 1. `measured` is what is measured once a log
    interval: the drift of the targets and the gap to returns, unless given.
    """
    count, inspect = updates_due(memory, cfg), learner.inspect_next
    value_rate = cfg.learning_rate if cfg.value_learning_rate is None else cfg.value_learning_rate
    for group in learner.groups:
        rate = value_rate if group == "critic" else cfg.learning_rate
        learner.set_optimizer(group, cfg, {group: rate})
    collected: list[Metrics] = []
    place: Any = None
    tensors: Any = None
    error: Any = None
    observe_newest(learner, memory, cfg)
    for batch in memory.batches(rng, count, cfg):
        place = batch.extras["place"]
        tensors, bonus_metrics = rewarded_batch(learner, learner.tensors(batch), cfg)
        made = update_once(tensors, memory.draws)
        made[0] |= bonus_metrics
        error = made[0].pop("td_error")
        if cfg.prioritized:
            memory.feedback(place, error.cpu().numpy(), cfg)
        collected += made
    for metrics in collected:
        # of several optimizers there is no norm in total
        metrics.pop("train/metrics/grad_norm/total", None)
    if collected and inspect:
        collected[-1] |= replay_metrics(memory, place, count, cfg)
        collected[-1] |= error_quantiles(error.cpu().numpy())
        collected[-1] |= (measured or value_metrics)(learner, memory, tensors, cfg)
    return collected


def value_metrics(learner: Learner, memory: Replay, batch: Steps, cfg: Any) -> dict[str, float]:
    return target_drift(learner.nets, batch) | value_gap(learner, memory, cfg)


def target_drift(nets: dict[str, Any], batch: Steps) -> dict[str, float]:
    """How far the slow copy of the critics is from them; nothing where there is none."""
    if "target" not in nets:
        return {}
    with torch.inference_mode():
        fast, slow = (nets[name](batch.obs, batch.action) for name in ("critic", "target"))
        return {"train/metrics/target_drift": float((fast - slow).abs().mean())}


def value_gap(learner: Learner, memory: Replay, cfg: Any) -> dict[str, float]:
    """How far the critics' values lie above the returns that followed (overestimation); an entropy
    that they count in as well is a part of it."""
    recent = memory.recent_returns(cfg.gamma, GAP_STEPS)
    if recent is None:
        return {}
    obs, action, returns = recent
    with torch.inference_mode():
        q = learner.nets["critic"](tensor(learner, obs), tensor(learner, action)).amin(0)
        return {"train/metrics/q_gap": float(q.mean()) - float(returns.mean())}
