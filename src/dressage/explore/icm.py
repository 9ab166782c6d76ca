"""The intrinsic curiosity module, Pathak et al. 2017 (arXiv 1705.05363).

Features of observations are learned by telling the action from the features before and after it
(equation 2), so that they show what an agent can influence. The bonus of a step is the error of a
network that foretells the features after it from those before and the action (equations 4 to 6).
The loss is `0.8` times the first error plus `0.2` times the second (equation 7, beta = 0.2).

Deviations: the second error does not train the features (Burda et al. 2018, "Large-scale study of
curiosity-driven learning", do the same: features that are easy to foretell would win); the bonus is
divided by its own root mean square; actions may be continuous, with their squared error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.algorithm import Task
    from dressage.core.steps import Steps

BETA = 0.2  # weight of the network that foretells


def network(task: Task, cfg: Any) -> Any:
    from dressage.nets.bonus import Curiosity

    return Curiosity(task.spec, cfg.bonus_net_arch)


def surprise(net: Any, batch: Steps) -> Tensor:
    """`[B]`"""
    return net(batch.obs, batch.action, batch.next_obs)[0]  # type: ignore[no-any-return]


def loss(nets: dict[str, Any], batch: Steps) -> tuple[Tensor, dict[str, Any]]:
    ahead, guess = nets["bonus"](batch.obs, batch.action, batch.next_obs)
    total = BETA * ahead.mean() + (1.0 - BETA) * guess.mean()
    return total, {
        "surprise": ahead.detach(),
        "train/loss/bonus": ahead.detach().mean(),
        "train/loss/bonus_inverse": guess.detach().mean(),
    }
