"""What DQN and its relatives share: settings, acting on action values, the loop of their updates.

They differ in what a value is (a number, a distribution) and so in the loss, which each defines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field

from dressage.algos import off_policy
from dressage.algos.off_policy import (
    GAP_STEPS,
    UPDATE_METRICS,
    VALUE_METRICS,
    error_quantiles,
    random_now,
    replay_metrics,
    tensor,
    updates_due,
)
from dressage.core.algorithm import Task
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
from dressage.errors import ConfigError
from dressage.explore.bonus import BonusSettings, add_bonus, observe_newest, rewarded_batch
from dressage.explore.choices import ChoiceNoise, choice_noise, choose
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.rng import Rng
    from dressage.core.steps import Steps, Tree

METRICS = (*UPDATE_METRICS, *VALUE_METRICS, "train/loss/td")


class ValueSettings(TorsoSettings, ReplaySettings, OptimizerSettings, BonusSettings):
    """Settings of learning action values; the defaults are those of SB3's DQN."""

    GROUP: ClassVar[str] = "values"

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
    double: bool = Field(False, description="the network chooses what the target values")
    dueling: bool = Field(False, description="state value and advantages apart")
    noisy: bool = Field(False, description="explore by noise on the weights after the encoder")
    noisy_sigma: float = Field(0.5, gt=0, description="noisy: its first size, over sqrt(inputs)")
    epsilon: SchedulableShare = Field(
        "linear(1, 0.05, until=0.1)", description="share of random actions"
    )
    temperature: SchedulableRate = Field(
        0.0, description="Boltzmann exploration over values; 0: none"
    )


class LayerNoise(NamedTuple):
    """Normals for the noisy layers of an update's three passes: `[noise_size]` each."""

    online: Tensor | None  # the values that are learned
    target: Tensor | None  # the values of the successors
    chooser: Tensor | None  # double: which successor's actions are the best


QUIET = LayerNoise(None, None, None)
Loss = Callable[..., tuple[Any, dict[str, Any]]]


def check(cfg: ValueSettings, n_envs: int) -> None:
    off_policy.check(cfg, n_envs)
    if cfg.recurrent != "none":
        raise ConfigError(
            f"recurrent={cfg.recurrent} learns from sequences, which is an algorithm of its own: "
            "algo=drqn."
        )


def q_learner(
    task: Task, cfg: Any, atoms: int | None = None, support: Tensor | None = None
) -> Learner:
    """A network of action values, or of their distributions, and its slow copy."""
    from dressage.nets.initialise import build
    from dressage.nets.q_network import QNetwork

    learner = Learner(device=task.device, precision=task.run.precision, compile=task.run.compile)
    net = build(
        lambda: QNetwork(task.spec, cfg, task.custom_net, atoms, support),
        "q",
        task.rng,
        cfg.ortho_init,
    )
    learner.add_net("q", net)
    learner.add_group("all", {"q": net}, cfg)
    learner.add_target("target", "all", "q")
    add_bonus(learner, task, cfg)
    return learner


def carry_size(learner: Learner) -> int:
    return int(learner.nets["q"].carry_size)


# -- acting --------------------------------------------------------------------------------------


def noise(rng: Rng, index: int, n_envs: int, learner: Learner, cfg: Any) -> ChoiceNoise:
    """The draw of vector step `index`; noisy layers have one for all environments."""
    net = learner.nets["q"]
    epsilon = 1.0 if random_now(cfg, index, n_envs) else cfg.epsilon
    drawn = choice_noise(rng, index, n_envs, net.categories, epsilon, cfg.temperature)
    if not net.noise_size:
        return drawn
    return drawn._replace(layers=rng.normal("act/layers", net.noise_size, index))


def act(learner: Learner, obs: Tree, carry: Any, mask: Any, noise: ChoiceNoise | None) -> Acted:
    """Actions of N environments; without noise the best ones."""
    net = learner.nets["q"]
    with torch.inference_mode():
        q = net.values(net(tensor(learner, obs), acting_noise(learner, noise))).cpu().numpy()
    return Acted(choose(q, net.categories, mask, noise), None, {})


def acting_noise(learner: Learner, noise: ChoiceNoise | None) -> Tensor | None:
    if noise is None or noise.layers is None:
        return None
    return tensor(learner, noise.layers)  # type: ignore[no-any-return]


# -- parts of losses -----------------------------------------------------------------------------


def chosen(q: Tensor, action: Tensor, categories: Any) -> Tensor:
    """`[B, choices, …]` and `[B, actions]` -> `[B, actions, …]`: the values of what was chosen."""
    index = action.long()
    if q.dim() == 3:
        index = index.unsqueeze(-1)
    parts = torch.split(q, list(categories), dim=1)
    return torch.cat(
        [part.take_along_dim(index[:, i : i + 1], 1) for i, part in enumerate(parts)], dim=1
    )


def best(q: Tensor, categories: Any, mask: Tensor | None) -> Tensor:
    """`[B, choices]` -> `[B, actions]`: the best legal choices."""
    if mask is not None:
        q = q.masked_fill(~mask, -torch.inf)
    return torch.stack(
        [part.argmax(-1) for part in torch.split(q, list(categories), dim=-1)], dim=-1
    )


def following(nets: dict[str, Any], batch: Steps, cfg: Any, noise: LayerNoise) -> Tensor:
    """What the target network says of the best actions after each step: `[B, actions, …]`.

    The best in its own eyes, or with `double` in the network's.
    """
    q, target = nets["q"], nets["target"]
    output = target(batch.next_obs, noise.target)
    chooser = q(batch.next_obs, noise.chooser) if cfg.double else output
    action = best(q.values(chooser), q.categories, batch.extras.get("next_mask"))
    return chosen(output, action, q.categories)


# -- updating ------------------------------------------------------------------------------------


def learn(
    learner: Learner,
    memory: Replay,
    rng: Rng,
    cfg: Any,
    loss: Loss,
    measure: Callable[..., dict[str, float]] | None = None,
) -> list[dict[str, Any]]:
    """Gradient steps on batches of the memory, then the target's move if it is due.

    `loss(nets, batch, cfg, noise)`, whose metrics have the `priority` of each of the batch, and its
    absolute `td_error` where that is something else.
    `measure(learner, memory, batch, cfg)`: what is too costly for every update.
    """
    count, inspect = updates_due(memory, cfg), learner.inspect_next
    learner.set_optimizer("all", cfg, {"q": cfg.learning_rate})
    collected: list[dict[str, Any]] = []
    place: Any = None
    batch: Any = None
    error: Any = None
    observe_newest(learner, memory, cfg)
    for drawn in memory.batches(rng, count, cfg):
        place = drawn.extras["place"]
        batch, bonus_metrics = rewarded_batch(learner, learner.tensors(drawn), cfg)
        layers = layer_noise(learner, rng, memory.draws)
        metrics = learner.step("all", loss, batch, cfg, layers)
        priority = metrics.pop("priority")
        error = metrics.pop("td_error", priority)
        if cfg.prioritized:
            memory.feedback(place, priority.cpu().numpy(), cfg)
        collected.append(metrics | bonus_metrics)
    if _target_due(memory, cfg):
        learner.follow("target", cfg.tau)
    if collected and inspect:
        measured = (measure or drift_and_gap)(learner, memory, batch, cfg)
        collected[-1] |= replay_metrics(memory, place, count, cfg) | measured
        collected[-1] |= error_quantiles(error.cpu().numpy())
    return collected


def layer_noise(learner: Learner, rng: Rng, index: int) -> LayerNoise:
    """The draw of update `index`; each pass has noise of its own (Fortunato et al. 2018)."""
    size = learner.nets["q"].noise_size
    if not size:
        return QUIET
    return LayerNoise(*tensor(learner, rng.normal("update/layers", (3, size), index)))


def _target_due(memory: Replay, cfg: Any) -> bool:
    """Whether a multiple of the interval lies within the steps just made."""
    n_envs, every = memory.ring.n_envs, cfg.target_update_interval
    now = memory.ring.high * n_envs
    return bool(now // every > (now - cfg.train_freq * n_envs) // every)


def drift_and_gap(learner: Learner, memory: Replay, batch: Steps, cfg: Any) -> dict[str, float]:
    """How far the two networks are apart, and how far values lie above the returns that followed
    (overestimation)."""
    net, target = learner.nets["q"], learner.nets["target"]
    with torch.inference_mode():
        drift = (net.values(net(batch.obs)) - net.values(target(batch.obs))).abs().mean()
        metrics = {"train/metrics/target_drift": float(drift)}
        recent = memory.recent_returns(cfg.gamma, GAP_STEPS)
        if recent is None:
            return metrics
        obs, action, returns = recent
        values = net.values(net(tensor(learner, obs)))
        q = chosen(values, tensor(learner, action), net.categories).mean(-1)
        return metrics | {"train/metrics/q_gap": float(q.mean()) - float(returns.mean())}
