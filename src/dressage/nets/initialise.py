"""Fills networks with their first values (core/initial.py)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from dressage.core.initial import linear_bias, linear_weight, orthogonal, uniform_fan_in
from dressage.core.rng import Rng
from dressage.nets.mlp import EnsembleLinear

Net = TypeVar("Net", bound=nn.Module)


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
            gain = getattr(layer, "gain", math.sqrt(2.0))
            weight = linear_weight(rng, f"{here}.weight", shape, gain, ortho)
            layer.weight.copy_(torch.from_numpy(weight))
            if layer.bias is not None:
                bias = linear_bias(rng, f"{here}.bias", shape[0], fan_in, ortho)
                layer.bias.copy_(torch.from_numpy(bias))
        elif isinstance(layer, EnsembleLinear):
            for i, (weight, bias) in enumerate(zip(layer.weight, layer.bias, strict=True)):
                inputs, outputs = weight.shape
                gain = getattr(layer, "gain", math.sqrt(2.0))
                drawn = linear_weight(rng, f"{here}.{i}.weight", (outputs, inputs), gain, ortho)
                weight.copy_(torch.from_numpy(drawn.T.copy()))
                first = linear_bias(rng, f"{here}.{i}.bias", outputs, inputs, ortho)
                bias[0].copy_(torch.from_numpy(first))
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
