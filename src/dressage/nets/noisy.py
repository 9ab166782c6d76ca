"""Linear layers whose weights are drawn anew at each pass, around a mean that is learned.

Fortunato et al. 2018, "Noisy networks for exploration" (arXiv 1706.10295), the factorised form:
one number for each input and each output of a layer makes the noise of all its weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class NoisyLinear(nn.Linear):
    """`y = (w + s_w f(e_out) f(e_in)^T) x + b + s_b f(e_out)`, equations 9 to 11.

    Without noise it is the plain layer of the means `w` and `b`, which begin as a plain layer's do.
    """

    def __init__(self, inputs: int, outputs: int, sigma: float) -> None:
        super().__init__(inputs, outputs)
        spread = sigma / math.sqrt(inputs)
        self.weight_spread = nn.Parameter(torch.full((outputs, inputs), spread))
        self.bias_spread = nn.Parameter(torch.full((outputs,), spread))
        self.noise: Tensor | None = None  # [inputs + outputs], of the pass that is being made

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        if self.noise is None:
            return y
        ins, outs = torch.split(self.noise, [self.in_features, self.out_features])
        return y + nn.functional.linear(x * ins, self.weight_spread, self.bias_spread) * outs


def make_noisy(layers: nn.Sequential, sigma: float) -> None:
    """Puts a noisy layer in the place of each linear one."""
    for i, layer in enumerate(layers):
        if isinstance(layer, nn.Linear):
            layers[i] = NoisyLinear(layer.in_features, layer.out_features, sigma)


def noise_size(net: nn.Module) -> int:
    """How many normals one pass of a network takes; 0: none of its layers is noisy."""
    return sum(layer.in_features + layer.out_features for layer in _noisy(net))


@contextmanager
def with_noise(net: nn.Module, normals: Tensor | None) -> Iterator[None]:
    """Passes within have the noise made of `[noise_size]` normals; None: the mean weights."""
    if normals is None:
        yield
        return
    layers = _noisy(net)
    shaped = normals.sign() * normals.abs().sqrt()  # f, section 3
    sizes = [layer.in_features + layer.out_features for layer in layers]
    for layer, noise in zip(layers, torch.split(shaped, sizes), strict=True):
        layer.noise = noise
    try:
        yield
    finally:
        for layer in layers:
            layer.noise = None


def _noisy(net: nn.Module) -> list[NoisyLinear]:
    return [layer for layer in net.modules() if isinstance(layer, NoisyLinear)]
