"""CrossQ, Bhatt et al. 2024 (arXiv 1902.05605, version of ICLR 2024).

SAC without slow copies of its critics. Batch renormalisation before every layer makes that stable,
if `(s, a)` and `(s', a')` go through the critics in one batch, so that both are normalised alike
(section 3, figure 2); critics are wider, Adam's first beta is 0.5, and the actor learns at every
`policy_delay`-th update.

Deviations: critics of 1024 units, as in sb3-contrib, rather than 2048.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from dressage.algos.continuous import (
    METRICS,
    METRICS_AT_TIMES,
    ContinuousSettings,
    Metrics,
    carry_size,
    check,
    critic_metrics,
    learn,
    new_learner,
)
from dressage.algos.off_policy import memory, prepare, rollout_length, tensor
from dressage.algos.sac import (
    ENTROPY_METRICS,
    ENTROPY_METRICS_AT_TIMES,
    EntropySettings,
    SdeSettings,
    act,
    add_temperature,
    drawn,
    improve_policy,
    noise,
    target_entropy,
    temperature,
    update_noise,
)
from dressage.algos.sac import actor_loss as soft_actor_loss
from dressage.core.algorithm import Needs, Task
from dressage.core.config import Count, SchedulableRate
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dressage.core.learner import Learner
    from dressage.core.replay import Replay
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


class Config(ContinuousSettings, EntropySettings, SdeSettings):
    """Settings of CrossQ; the defaults are sb3-contrib's."""

    net_arch: list[Count] | dict[str, list[Count]] = Field(
        {"policy": [256, 256], "value": [1024, 1024]},
        description="hidden widths; or {policy: [...], value: [...]}",
    )
    learning_rate: SchedulableRate = Field(1e-3, description="step size (alias lr)")
    betas: tuple[float, float] = Field((0.5, 0.999), description="of Adam, AdamW and LAMB")
    policy_delay: Count = Field(3, description="updates of the critics for one of the actor")
    batch_norm_momentum: float = Field(
        0.01, gt=0, le=1, description="share by which running statistics follow a batch's"
    )
    renorm_warmup: int = Field(
        100_000, ge=0, description="passes of plain batch norm before renormalisation"
    )


NEEDS = Needs(
    feed="replay",
    actions=("continuous",),
    metrics=tuple(m for m in METRICS if m != "train/metrics/target_drift") + ENTROPY_METRICS,
    metrics_at_times=(*METRICS_AT_TIMES, *ENTROPY_METRICS_AT_TIMES),
    preview=True,
)


def init(task: Task, cfg: Config) -> Learner:
    """An actor and critics, both with batch renormalisation, and the temperature."""
    from dressage.nets.batch_norm import BatchRenorm, normalised_inputs
    from dressage.nets.continuous import Critics, GaussianActor

    spec, custom = task.spec, task.custom_net
    how = cfg.batch_norm_momentum, cfg.renorm_warmup

    def make_actor() -> nn.Module:
        actor = GaussianActor(spec, cfg, custom)
        last = BatchRenorm((1, actor.torso.outputs), *how)  # before the heads
        actor.torso.mlp.layers = normalised_inputs(actor.torso.mlp.layers, *how).append(last)
        return actor

    def make_critic() -> nn.Module:
        critic = Critics(spec, cfg, cfg.n_critics, custom)
        critic.mlp.layers = normalised_inputs(critic.mlp.layers, *how)
        return critic

    learner = new_learner(task, cfg, make_actor, make_critic)
    add_temperature(learner, cfg)
    return learner


def critic_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """SAC's, with the network's own values of the successors, from the same pass (figure 2)."""
    from dressage.nets.batch_norm import learning_statistics

    with torch.no_grad():
        action, log_prob = drawn(nets, batch.next_obs, normal)
    with learning_statistics(nets["critic"]):
        both = nets["critic"](joint(batch.obs, batch.next_obs), joint(batch.action, action))
    q, following = both.chunk(2, dim=-1)  # [E, B]
    soft = following.detach().amin(0) - alpha * log_prob
    error = batch.reward + batch.extras["discount"] * soft - q
    loss = 0.5 * (batch.extras["weight"] * error.square()).mean(-1).sum()
    return loss, critic_metrics(loss, q, error)


def joint(a: Any, b: Any) -> Any:
    """Two batches as one."""
    if isinstance(a, dict):
        return {name: torch.cat((a[name], b[name])) for name in a}
    return torch.cat((a, b))


def actor_loss(
    nets: dict[str, Any], batch: Steps, normal: Tensor, alpha: Tensor
) -> tuple[Tensor, dict[str, Any]]:
    """SAC's; the actor's statistics follow the batch, the critics' stay."""
    from dressage.nets.batch_norm import learning_statistics

    with learning_statistics(nets["actor"]):
        return soft_actor_loss(nets, batch, normal, alpha)


def update(learner: Learner, memory: Replay, rng: Rng, cfg: Config) -> list[Metrics]:
    """Critics on each batch; actor and temperature at every `policy_delay`-th."""
    actor = learner.nets["actor"]
    entropy = target_entropy(actor, cfg)

    def update_once(batch: Steps, index: int) -> list[Metrics]:
        normal = tensor(learner, update_noise(actor, rng, "crossq", index, len(batch.reward)))
        alpha = temperature(learner, cfg)
        made = [learner.step("critic", critic_loss, batch, normal[0], alpha)]
        if index % cfg.policy_delay == 0:
            improving = (batch, normal[1], alpha)
            made += improve_policy(learner, actor_loss, improving, entropy, cfg)
        return made

    return learn(learner, memory, rng, cfg, update_once)
