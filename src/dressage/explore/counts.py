"""Count-based exploration, Tang et al. 2017 (arXiv 1611.04717).

A state's bonus is `1 / sqrt(n)`, n being how often states with its hash were reached (equation 1).
The hash is SimHash (equation 2): the signs of random projections of the observation.

Deviations: observations are normalised first, and projections have a random offset, without which
a position on a line has but two hashes; signs are hashed once more into 65,536 counters. `1 /
sqrt(n)` begins at 1, so that it needs no normalisation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.algorithm import Task
    from dressage.core.steps import Steps

loss = None  # nothing is learned


def network(task: Task, cfg: Any) -> Any:
    from dressage.nets.bonus import Counts

    return Counts(task.spec, cfg.bonus_bits, task.rng)


def surprise(net: Any, batch: Steps) -> Tensor:
    """`[B]`"""
    return net.visits(batch.next_obs).float().rsqrt()  # type: ignore[no-any-return]
