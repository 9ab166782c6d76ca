"""An encoder of one's own: from an observation to features, for policy and value alike."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Fourier(nn.Module):
    """Sines and cosines of random projections of a vector observation."""

    def __init__(self, inputs: int, frequencies: int = 16) -> None:
        super().__init__()
        self.projection = nn.Linear(inputs, frequencies)  # torch's seed is the run's at this point
        self.outputs = 2 * frequencies  # required: how many features forward returns

    def forward(self, obs: Tensor) -> Tensor:  # [..., inputs] -> [..., outputs]
        x = self.projection(obs)
        return torch.cat((x.sin(), x.cos()), dim=-1)


def make_net(shapes: Any) -> nn.Module:
    """`shapes`: `(D,)`, `(C, H, W)`, or a dict of them for observations with several parts."""
    return Fourier(shapes[0])
