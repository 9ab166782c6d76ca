"""A bonus for what is new, added to the reward: random network distillation, curiosity or counts.

Any algorithm can have one: its Config inherits `BonusSettings`, its `init` calls `add_bonus`, and
the reward passes through `rewarded_rollout` before advantages are made of it, or `rewarded_batch`
when a batch of a replay memory is learned from. The shared functions of algos/ do all that.

With a replay memory the bonus is computed when a batch is drawn, by the network as it is then: a
bonus stored with a step would go on praising what has long become familiar.

The bonus network has an optimizer of its own kind of settings as the algorithm's, but for the
learning rate. Its steps are not counted as updates.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from dressage.core.config import Count, SchedulablePositive, SchedulableRate, Settings
from dressage.core.steps import Steps, map_steps, tree_map
from dressage.core.summaries import combined
from dressage.explore import counts, icm, rnd
from dressage.lazy import torch

if TYPE_CHECKING:
    from dressage.core.algorithm import Task
    from dressage.core.learner import Learner
    from dressage.core.replay import Replay

KINDS: dict[str, ModuleType] = {"rnd": rnd, "icm": icm, "counts": counts}
METRICS = (
    "train/roll/intrinsic_mean",
    "train/roll/extrinsic_mean",
    "train/hp/bonus_coef",
    "train/loss/bonus",
    "train/loss/bonus_inverse",
)
BATCH = 32  # steps of a rollout that the bonus network learns from at once
OF_ALL_GROUPS = ("grad_norm/total", "grad_clipped", "skipped_updates")  # the algorithm's own


class BonusSettings(Settings):
    """Off unless `bonus` is set."""

    GROUP: ClassVar[str] = "exploration"

    bonus: Literal["none", "rnd", "icm", "counts"] = Field(
        "none", description="reward for what is new: by distillation, curiosity or counts"
    )
    bonus_coef: SchedulableRate = Field(
        0.1, description="what a bonus of typical size adds to the reward"
    )
    bonus_learning_rate: SchedulablePositive = Field(
        1e-3, description="step size of the bonus network"
    )
    bonus_net_arch: list[Count] = Field([64, 64], description="rnd, icm: hidden widths")
    bonus_bits: int = Field(32, ge=1, le=512, description="counts: signs in the hash of a state")


def kind_of(cfg: Any) -> Any:
    """The module of the bonus in use; None for none, or where an algorithm knows no bonus."""
    return KINDS.get(getattr(cfg, "bonus", "none"))


def add_bonus(learner: Learner, task: Task, cfg: Any) -> None:
    """Gives the learner the net `bonus`, and its group where it learns."""
    from dressage.nets.initialise import build

    kind = kind_of(cfg)
    if kind is None:
        return
    net = build(lambda: kind.network(task, cfg), "bonus", task.rng, ortho=True)
    learner.add_net("bonus", net)
    if net.learned is not None:
        learner.add_group("bonus", {"bonus": net.learned}, cfg)


def rewarded_rollout(learner: Any, steps: Steps, cfg: Any) -> tuple[Steps, dict[str, float]]:
    """`[T, N]` steps with the bonus in their reward; then the network learns from them.

    All are judged by the network as it was while they were collected.
    """
    kind = kind_of(cfg)
    if kind is None:
        return steps, {}
    size = steps.reward.size
    rows = learner.tensors(
        map_steps(lambda x: x.reshape(size, *x.shape[2:]), steps._replace(extras={}))
    )
    # every n-th step: of all environments and times, without a random number
    count = -(-size // BATCH)
    batches = [map_steps(lambda x, i=i: x[i::count], rows) for i in range(count)]  # type: ignore[misc]
    net = learner.nets["bonus"]
    with torch.no_grad():
        net.observe(rows.next_obs)
        surprise = torch.empty(size, device=learner.device)
        for i, batch in enumerate(batches):
            surprise[i::count] = kind.surprise(net, batch)
        bonus = net.scaled(surprise)
    metrics = _reward_metrics(bonus, rows.reward, cfg)
    if kind.loss is not None:
        learned = combined([_learn(learner, kind, batch, cfg)[1] for batch in batches])
        metrics = learned | metrics
    reward = steps.reward + cfg.bonus_coef * bonus.cpu().numpy().reshape(steps.reward.shape)
    return steps._replace(reward=reward), {name: float(x) for name, x in metrics.items()}


def observe_newest(learner: Learner, memory: Replay, cfg: Any) -> None:
    """Takes note of the steps that were just added to a replay memory."""
    if kind_of(cfg) is None:
        return
    newest = memory.newest(cfg.train_freq, successors=True).next_obs
    flat = tree_map(lambda x: torch.from_numpy(x).to(learner.device).flatten(0, 1), newest)
    with torch.no_grad():
        learner.nets["bonus"].observe(flat)


def rewarded_batch(learner: Learner, batch: Steps, cfg: Any) -> tuple[Steps, dict[str, Any]]:
    """A drawn batch `[B, …]` or `[L, B, …]` of tensors with the bonus in its reward, on which the
    network has learned; and metrics for those of the update."""
    kind = kind_of(cfg)
    if kind is None:
        return batch, {}
    net, metrics = learner.nets["bonus"], dict[str, Any]()
    last = batch.reward.dim() - 1
    rows = map_steps(lambda x: x.flatten(0, last), batch._replace(extras={}))
    if kind.loss is None:
        with torch.no_grad():
            surprise = kind.surprise(net, rows)
    else:
        surprise, metrics = _learn(learner, kind, rows, cfg)
    with torch.no_grad():
        bonus = net.scaled(surprise).view_as(batch.reward)
        reward = batch.reward + cfg.bonus_coef * bonus
    return batch._replace(reward=reward), metrics | _reward_metrics(bonus, batch.reward, cfg)


def _reward_metrics(bonus: Any, reward: Any, cfg: Any) -> dict[str, Any]:
    return {
        "train/roll/intrinsic_mean": bonus.mean(),
        "train/roll/extrinsic_mean": reward.mean(),
        "train/hp/bonus_coef": cfg.bonus_coef,
    }


def _learn(learner: Learner, kind: Any, batch: Steps, cfg: Any) -> tuple[Any, dict[str, Any]]:
    """A step of the bonus network; the surprise before it, and metrics."""
    learner.set_optimizer("bonus", cfg, {"bonus": cfg.bonus_learning_rate})
    updates = learner.updates
    metrics = learner.step("bonus", kind.loss, batch)
    learner.updates = updates
    surprise = metrics.pop("surprise")
    for name in OF_ALL_GROUPS:
        metrics.pop(f"train/metrics/{name}")
    return surprise, metrics
