"""Random network distillation, Burda et al. 2018 (arXiv 1810.12894).

The bonus of a step is the error of a network that learns what another network, random and fixed,
says of the step's successor: small where many like it were seen (section 2.2). Observations are
normalised and clipped at 5 deviations (section 2.4).

Deviations: the bonus is added to the reward, with one value function and one discount for both,
where the paper has two heads and lets the bonus run on over the ends of episodes; it is divided by
its own root mean square, where the paper divides by the deviation of its discounted sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.algorithm import Task
    from dressage.core.steps import Steps


def network(task: Task, cfg: Any) -> Any:
    from dressage.nets.bonus import Distillation

    return Distillation(task.spec, cfg.bonus_net_arch)


def surprise(net: Any, batch: Steps) -> Tensor:
    """`[B]`"""
    return net.errors(batch.next_obs)  # type: ignore[no-any-return]


def loss(nets: dict[str, Any], batch: Steps) -> tuple[Tensor, dict[str, Any]]:
    errors = surprise(nets["bonus"], batch)
    mean = errors.mean()
    return mean, {"surprise": errors.detach(), "train/loss/bonus": mean.detach()}
