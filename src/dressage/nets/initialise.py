"""First values of parameters, drawn by our own generators: each from its name alone.

So the same network starts equal in both engines, on every device, in every order of building.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from dressage.core.rng import Rng

Net = TypeVar("Net", bound=nn.Module)


def orthogonal(rng: Rng, name: str, shape: tuple[int, ...], gain: float) -> np.ndarray:
    """Orthogonal rows or columns times `gain` (Saxe et al. 2014); trailing axes are flattened."""
    rows, columns = shape[0], math.prod(shape[1:])
    tall = rng.normal(f"init/{name}", (max(rows, columns), min(rows, columns))).astype(np.float64)
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))
    return (gain * (q if rows >= columns else q.T)).reshape(shape).astype(np.float32)


def uniform_fan_in(rng: Rng, name: str, shape: tuple[int, ...], fan_in: int) -> np.ndarray:
    """PyTorch's default: uniform within 1/sqrt(fan_in)."""
    bound = 1.0 / math.sqrt(max(fan_in, 1))
    return (2.0 * rng.uniform(f"init/{name}", shape) - 1.0) * np.float32(bound)


def build(make: Callable[[], Net], name: str, rng: Rng, ortho: bool) -> Net:
    """Makes a network and fills it. What a user's own layers draw is seeded from the run too."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.raw(f"init/{name}", 1)[0] >> 1))
        net = make()
    initialise(net, name, rng, ortho)
    return net


@torch.no_grad()
def initialise(net: nn.Module, name: str, rng: Rng, ortho: bool) -> None:
    """Fills the linear, convolutional and recurrent layers of `net`; others keep their constants.

    A layer's gain is its attribute `gain` (output heads set it), else sqrt(2), and 1 in cells.
    """
    for path, layer in net.named_modules():
        if getattr(layer, "keep_init", False):
            continue
        here = f"{name}.{path}" if path else name
        if isinstance(layer, nn.Linear | nn.Conv2d):
            shape = tuple(layer.weight.shape)
            fan_in = math.prod(shape[1:])
            if ortho:
                gain = getattr(layer, "gain", math.sqrt(2.0))
                weight = orthogonal(rng, f"{here}.weight", shape, gain)
            else:
                weight = uniform_fan_in(rng, f"{here}.weight", shape, fan_in)
            layer.weight.copy_(torch.from_numpy(weight))
            if layer.bias is not None:
                layer.bias.zero_()
                if not ortho:
                    bias = uniform_fan_in(rng, f"{here}.bias", tuple(layer.bias.shape), fan_in)
                    layer.bias.copy_(torch.from_numpy(bias))
        elif isinstance(layer, nn.RNNCellBase):
            for key, parameter in layer.named_parameters(recurse=False):
                shape = tuple(parameter.shape)
                if key.startswith("bias"):
                    parameter.zero_()
                elif ortho:
                    parameter.copy_(torch.from_numpy(orthogonal(rng, f"{here}.{key}", shape, 1.0)))
                else:
                    draw = uniform_fan_in(rng, f"{here}.{key}", shape, layer.hidden_size)
                    parameter.copy_(torch.from_numpy(draw))
