"""Noise on a network's weights, Plappert et al. 2018 (arXiv 1706.01905).

A copy of the network with `scale` times a normal added to each weight acts. It is drawn anew every
`parameter_noise_interval` vector steps; then `scale` grows or shrinks by a hundredth, so that the
actions of the two networks come to lie `parameter_noise` apart (section 3, "adaptive noise
scaling", and appendix C for the distance). Layer norm (`layer_norm=true`) is the paper's advice:
without it the same noise moves layers very differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from dressage.core.config import Count, SchedulableRate, Settings
from dressage.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from dressage.core.learner import Learner
    from dressage.core.rng import Rng

GROWTH = 1.01  # of the scale at each draw
SMALLEST_FIRST = 0.01  # a scale of 0 could not grow
METRICS = ("train/metrics/parameter_noise_scale", "train/metrics/parameter_noise_distance")


class ParameterNoiseSettings(Settings):
    """Off unless `parameter_noise` is set."""

    GROUP: ClassVar[str] = "exploration"

    parameter_noise: SchedulableRate = Field(
        0.0, description="how far noise on weights should move actions (root mean square); 0: none"
    )
    parameter_noise_interval: Count = Field(
        100, description="vector steps for which one draw of it stays"
    )


def add_parameter_noise(
    learner: Learner, group: str, chunk: str, rng: Rng, cfg: ParameterNoiseSettings
) -> None:
    """Gives the learner `perturbed`, a noisy copy of a chunk, and `parameter_noise`, its scale;
    neither where the setting is 0."""
    from dressage.nets.continuous import NoiseScale

    if cfg.parameter_noise == 0.0:
        return
    learner.add_target("perturbed", group, chunk)
    first = max(SMALLEST_FIRST, cfg.at(0.0).parameter_noise)
    learner.add_net("parameter_noise", NoiseScale(first))
    perturb(learner, rng, 0)


def perturb(learner: Learner, rng: Rng, index: int) -> None:
    """Draws the noisy copy of the network as it is now; `index`: the vector steps made so far."""
    noisy, weights = learner.targets["perturbed"]
    normal = torch.from_numpy(rng.normal("parameter_noise", len(noisy), index))
    with torch.no_grad():
        scale = learner.nets["parameter_noise"].scale
        torch.add(weights, normal.to(learner.device) * scale, out=noisy)


def adapt(learner: Learner, distance: Tensor, wanted: float) -> dict[str, Tensor]:
    """Moves the scale towards what makes `distance` the wanted one."""
    scale = learner.nets["parameter_noise"].scale
    scale.mul_(torch.where(distance <= wanted, GROWTH, 1.0 / GROWTH))
    return {METRICS[0]: scale.clone(), METRICS[1]: distance}


def interval_passed(made: int, steps: int, interval: int) -> bool:
    """Whether a multiple of `interval` lies within the last `steps` of the `made` vector steps."""
    return made // interval > (made - steps) // interval
