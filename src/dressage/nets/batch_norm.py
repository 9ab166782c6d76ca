"""Batch renormalisation, Ioffe 2017 (arXiv 1702.03275), and where CrossQ puts it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from dressage.nets.mlp import EnsembleLinear

EPSILON = 1e-3
LARGEST_SCALE, LARGEST_SHIFT = 3.0, 5.0  # r_max and d_max of the paper


class BatchRenorm(nn.Module):
    """`x [..., B, F]` to mean 0 and deviation 1 over the batch, then scaled and shifted.

    Within `learning_statistics` by the batch's own mean and deviation, with the gradient through
    them, and the running ones follow. After `warmup` such passes the result is corrected to what
    the running ones give (equations 5 to 7), within bounds. Elsewhere by the running ones.
    """

    mean: Tensor
    variance: Tensor
    passes: Tensor

    def __init__(self, shape: tuple[int, ...], momentum: float, warmup: int) -> None:
        super().__init__()
        self.momentum, self.warmup, self.learns = momentum, warmup, False
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))
        self.register_buffer("passes", torch.tensor(0))
        self.scale = nn.Parameter(torch.ones(shape))
        self.shift = nn.Parameter(torch.zeros(shape))

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.mean.dtype)  # statistics want full precision
        if not self.learns:
            rate = (self.variance + EPSILON).rsqrt()
            return torch.addcmul(self.shift, x - self.mean, rate * self.scale)
        # torch.var_mean takes seven times as long over this axis
        mean = x.mean(-2, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(-2, keepdim=True)
        rate = (variance + EPSILON).rsqrt()
        shift: Tensor = self.shift
        if self.passes >= self.warmup:
            r, d = self._correction(mean, variance)
            rate, shift = rate * r, shift + d * self.scale
        with torch.no_grad():
            self.mean.lerp_(mean, self.momentum)
            self.variance.lerp_(variance, self.momentum)
            self.passes.add_(1)
        return torch.addcmul(shift, centred, rate * self.scale)

    def _correction(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """r and d, which no gradient passes through."""
        running = (self.variance + EPSILON).sqrt()
        r = (variance.detach() + EPSILON).sqrt() / running
        d = (mean.detach() - self.mean) / running
        r = r.clamp(1.0 / LARGEST_SCALE, LARGEST_SCALE)
        return r, d.clamp(-LARGEST_SHIFT, LARGEST_SHIFT)


@contextmanager
def learning_statistics(net: nn.Module) -> Iterator[None]:
    """Passes within normalise by their own batch, and the running statistics follow it."""
    layers = [layer for layer in net.modules() if isinstance(layer, BatchRenorm)]
    for layer in layers:
        layer.learns = True
    try:
        yield
    finally:
        for layer in layers:
            layer.learns = False


def normalised_inputs(layers: nn.Sequential, momentum: float, warmup: int) -> nn.Sequential:
    """The same layers with a BatchRenorm before each linear one."""
    found: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, nn.Linear):
            found.append(BatchRenorm((1, layer.in_features), momentum, warmup))
        elif isinstance(layer, EnsembleLinear):
            members, inputs, _ = layer.weight.shape
            found.append(BatchRenorm((members, 1, inputs), momentum, warmup))
        found.append(layer)
    return nn.Sequential(*found)
